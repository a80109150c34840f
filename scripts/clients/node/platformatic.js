// @platformatic/kafka behind the command line of commandline.js.
'use strict'
const { HEARTBEAT_MS, Member, complain, library, records, refused, run, say, transact, version } = require('./commandline')
const { Consumer, Producer, ProduceAcks, compressionsAlgorithms, stringSerializers } = library('@platformatic/kafka')

const NAME = 'platformatic-kafka'
const ACKS = { all: ProduceAcks.ALL, 1: ProduceAcks.LEADER, 0: ProduceAcks.NO_RESPONSE }
const COMMIT_MS = 50
const FETCH_MS = 500 // it closes when its last fetch has been answered
const LACKS = {
  range: 'it has round robin only',
  sticky: 'it has round robin only',
  cooperative: 'it has the eager protocol only',
  throttle: 'it does not tell'
}
if (!compressionsAlgorithms.zstd.available) LACKS.zstd = 'it takes the one of Node.js, which has it since 22.15'

function settings(o) {
  const sasl = o.user ? { mechanism: o.mechanism, username: o.user, password: o.password } : undefined
  return { clientId: NAME, bootstrapBrokers: [o['bootstrap-server']], sasl }
}

function producer(o, more) {
  return new Producer({ ...settings(o), serializers: stringSerializers, ...more })
}

async function produce(o) {
  const p = producer(o)
  for await (const messages of records(o)) {
    await p.send({ messages: messages.map(m => ({ topic: o.topic, ...m })), acks: ACKS[o.acks], compression: o.codec })
  }
  await p.close()
  say('produced', o.records, 'throttled unknown')
  return 0
}

// membership is how it belongs to its group: in the KIP-848 protocol most is the broker's to say.
function membership(o) {
  const base = { groupId: o.group, groupInstanceId: o.static, autocommit: false, maxWaitTime: FETCH_MS }
  if (o.protocol === 'consumer') return { ...base, groupProtocol: 'consumer' }
  return { ...base, sessionTimeout: o.session * 1000, heartbeatInterval: HEARTBEAT_MS }
}

// Reader tells of what a consumer reads, and commits it now and then.
class Reader {
  constructor(o) {
    this.options = o
    this.member = new Member(o)
    this.uncommitted = new Map() // partition -> where it goes on
    this.consumer = new Consumer({ ...settings(o), ...membership(o) })
    this.consumer.on('consumer:group:rebalance', () => this.revoked())
    this.consumer.on('consumer:group:join', ({ assignments }) =>
      this.member.now((assignments ?? []).flatMap(({ topic, partitions }) => partitions.map(p => `${topic}-${p}`))))
  }

  revoked() {
    this.uncommitted.clear()
    this.member.revoked()
  }

  take({ topic, partition, offset, value }) {
    if (this.member.owns(topic, partition) && this.member.record(partition, offset, value)) this.uncommitted.set(partition, offset + 1n)
  }

  async commit() {
    const offsets = [...this.uncommitted].map(([partition, offset]) => ({ topic: this.options.topic, partition, offset, leaderEpoch: -1 }))
    this.uncommitted.clear()
    if (!offsets.length) return
    await this.consumer.commit({ offsets })
    this.member.committed()
  }

  async run() {
    const stream = await this.consumer.consume({ topics: [this.options.topic], mode: 'committed', fallbackMode: 'earliest' })
    stream.on('data', message => this.take(message))
    stream.on('error', error => { complain(error); this.member.end() })
    let done = false
    this.member.done.then(() => { done = true })
    while (!done) {
      await Promise.race([this.member.done, new Promise(resolve => setTimeout(resolve, COMMIT_MS))])
      await this.commit().catch(complain) // a rebalance came first: others read this again
    }
    this.member.revoked()
    await stream.close()
    await this.consumer.close()
    return this.member.code()
  }
}

async function consume(o) {
  const reader = new Reader(o)
  try {
    return await reader.run()
  } catch (error) {
    if (o.protocol === 'consumer') return refused(error)
    throw error
  }
}

function transaction(o) {
  return transact(o, async () => {
    const p = producer(o, { transactionalId: `${NAME}-${Date.now()}`, idempotent: true })
    const transaction = await p.beginTransaction()
    await transaction.send({ messages: [{ topic: o.topic, value: 'value-000000 ' }] })
    await transaction.commit()
  })
}

run(NAME, version('@platformatic/kafka'), LACKS, { produce, consume, transact: transaction })
