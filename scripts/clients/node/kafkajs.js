// KafkaJS behind the command line of commandline.js.
'use strict'
const { HEARTBEAT_MS, Member, complain, library, records, run, say, transact, version } = require('./commandline')
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = library('kafkajs')

CompressionCodecs[CompressionTypes.Snappy] = library('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = new (library('kafkajs-lz4'))().codec
const zstd = library('@mongodb-js/zstd')
CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress: encoder => zstd.compress(encoder.buffer), decompress: zstd.decompress })

const NAME = 'kafkajs'
const TYPES = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }
const ACKS = { all: -1, 1: 1, 0: 0 }
const MECHANISMS = { PLAIN: 'plain', 'SCRAM-SHA-256': 'scram-sha-256', 'SCRAM-SHA-512': 'scram-sha-512' }
const LACKS = {
  range: 'KafkaJS has round robin only',
  sticky: 'KafkaJS has round robin only',
  cooperative: 'KafkaJS has the eager protocol only',
  static: 'KafkaJS has no static members',
  protocol: 'KafkaJS has classic groups only'
}

// throttle is the longest that KafkaJS was told of, in ms: it says so in its log and nowhere else.
let throttle = 0
function logCreator() {
  return ({ level, log }) => {
    const told = /^Client side throttling in effect for (\d+)ms$/.exec(log.message)
    if (told) throttle = Math.max(throttle, Number(told[1]))
    if (level <= logLevel.WARN) complain(`${log.message} ${log.error ?? ''}`)
  }
}

function client(o) {
  const sasl = o.user ? { mechanism: MECHANISMS[o.mechanism], username: o.user, password: o.password } : undefined
  return new Kafka({ clientId: NAME, brokers: [o['bootstrap-server']], sasl, logLevel: logLevel.DEBUG, logCreator })
}

async function produce(o) {
  const producer = client(o).producer()
  await producer.connect()
  for await (const messages of records(o)) {
    await producer.send({ topic: o.topic, acks: ACKS[o.acks], compression: TYPES[o.codec], messages })
  }
  await producer.disconnect()
  say('produced', o.records, 'throttled', throttle)
  return 0
}

async function consume(o) {
  const member = new Member(o)
  const consumer = client(o).consumer({ groupId: o.group, sessionTimeout: o.session * 1000, heartbeatInterval: HEARTBEAT_MS })
  const { GROUP_JOIN, REBALANCING, CRASH } = consumer.events
  consumer.on(REBALANCING, () => member.revoked())
  consumer.on(GROUP_JOIN, ({ payload }) => member.now(Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) => partitions.map(p => `${topic}-${p}`))))
  consumer.on(CRASH, ({ payload }) => { if (!payload.restart) member.end() })
  await consumer.connect()
  await consumer.subscribe({ topic: o.topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatch: each => batch(consumer, member, each) })
  await member.done
  await consumer.stop().finally(() => member.revoked())
  await consumer.disconnect()
  return member.code()
}

// batch takes the records of one partition and commits them.
async function batch(consumer, member, { batch: { topic, partition, messages }, resolveOffset, heartbeat, isRunning, isStale }) {
  let next
  for (const { offset, value } of messages) {
    if (!isRunning() || isStale() || !member.owns(topic, partition) || !member.record(partition, offset, value)) break
    resolveOffset(offset)
    next = String(BigInt(offset) + 1n)
  }
  if (next === undefined) return
  await consumer.commitOffsets([{ topic, partition, offset: next }])
  member.committed()
  await heartbeat()
}

function transaction(o) {
  return transact(o, async () => {
    const producer = client(o).producer({ transactionalId: `${NAME}-${Date.now()}`, maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic: o.topic, messages: [{ value: 'value-000000 ' }] })
    await transaction.commit()
  })
}

run(NAME, version('kafkajs'), LACKS, { produce, consume, transact: transaction })
