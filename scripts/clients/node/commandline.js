// The command line that all client programs have in common (scripts/clients/clients.tsv)
// and the lines that they print, for those in JavaScript. The code is 0 when all
// went well, 1 when it did not, 2 when the client lacks what was asked for, 3 when
// the broker refuses it.
'use strict'
const fs = require('node:fs')
const { createRequire } = require('node:module')
const { parseArgs } = require('node:util')

// Where the libraries are: the folder of node_modules.
const MODULES = process.env.CLIENT_MODULES ?? __dirname
const library = createRequire(`${MODULES}/`)
const version = name => JSON.parse(fs.readFileSync(`${MODULES}/node_modules/${name}/package.json`)).version

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const HEARTBEAT_MS = 500
const REFUSED = 3
const WORDS = 'the same words again and again, '.repeat(3).slice(0, 80)

const DEFAULTS = { 'partition-count': '1', records: '0', from: '0', rate: '0', codec: 'none', acks: 'all', protocol: 'classic', timeout: '60', session: '10', mechanism: 'PLAIN' }
const OPTIONAL = ['bootstrap-server', 'topic', 'group', 'static', 'assignor', 'user', 'tag']

function parse(args) {
  const options = {}
  for (const name of OPTIONAL) options[name] = { type: 'string' }
  for (const [name, value] of Object.entries(DEFAULTS)) options[name] = { type: 'string', default: value }
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  for (const name of ['partition-count', 'records', 'from', 'rate', 'timeout', 'session']) values[name] = Number(values[name])
  return { ...values, verb: positionals[0], password: process.env.CLIENT_PASSWORD ?? '' }
}

const say = (...words) => fs.writeSync(1, words.join(' ') + '\n') // one write for each line: two members may append to one file
const complain = error => fs.writeSync(2, `${error?.stack ?? error}\n`)
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

// records yields the records to write in arrays of at most 200, at the rate asked for.
async function * records(o) {
  const began = Date.now()
  for (let k = 0; k < o.records;) {
    const due = o.rate ? Math.floor((Date.now() - began) * o.rate / 1000) + 1 : o.records
    const end = Math.min(o.records, due, k + 200)
    if (k >= end) {
      await sleep(5)
      continue
    }
    yield Array.from({ length: end - k }, (_, j) => record(o, o.from + k + j))
    k = end
  }
}

function record(o, i) {
  return { key: `key-${i}`, value: `value-${String(i).padStart(6, '0')} ${WORDS}`, partition: i % o['partition-count'] }
}

// Member is a member of a group as its lines tell of it: what it owns, how many
// records it has read, and whether it is done. The lines come in the order of the
// events, and a partition is told revoked before the client gives it away.
class Member {
  constructor(o) {
    this.options = o
    this.owned = new Set()
    this.read = 0
    this.done = new Promise(resolve => { this.end = resolve })
    process.on('SIGTERM', this.end)
    if (o.records) setTimeout(this.end, o.timeout * 1000).unref()
  }

  say(...words) { say(...(this.options.tag ? [this.options.tag] : []), ...words) }
  owns(topic, partition) { return this.owned.has(`${topic}-${partition}`) }

  // assigned is told of new partitions, each as T-P.
  assigned(partitions) {
    for (const p of partitions) this.owned.add(p)
    this.say('assigned', ...[...partitions].sort())
  }

  revoked(partitions = [...this.owned]) {
    const gone = partitions.filter(p => this.owned.delete(p))
    if (gone.length) this.say('revoked', ...gone.sort())
  }

  // now is told all that it owns from now on.
  now(partitions) {
    this.revoked([...this.owned].filter(p => !partitions.includes(p)))
    this.assigned(partitions.filter(p => !this.owned.has(p)))
  }

  // record is called for each record; false says that this one is not wanted any more.
  record(partition, offset, value) {
    const wanted = this.options.records
    if (wanted && this.read === wanted) return false
    this.read++
    this.say('record', partition, offset, Number(/^value-(\d+) /.exec(value.toString())[1]))
    if (this.read === wanted) this.end()
    return true
  }

  committed() { this.say('committed') }

  code() {
    if (this.read >= this.options.records) return 0
    complain(`${this.read} of ${this.options.records} records within ${this.options.timeout} s`)
    return 1
  }
}

// lacking is what was asked for that the client does not have.
function lacking(o, lacks) {
  const asked = [o.codec, o.assignor, o.mechanism, o.static && 'static', o.protocol === 'consumer' && 'protocol', o.verb === 'transact' && 'transactions']
  return asked.find(a => a in lacks)
}

function refused(error) {
  say('refused', error.message.replace(/\s+/g, ' '))
  return REFUSED
}

// transact says what becomes of attempt(), which commits a transaction or throws.
async function transact(o, attempt) {
  const late = sleep(o.timeout * 1000).then(() => { throw new Error(`timed out after ${o.timeout} s`) })
  try {
    await Promise.race([attempt(), late])
  } catch (error) {
    return refused(error)
  }
  say('committed')
  return 0
}

// run runs the program of a client. lacks says of codecs, mechanisms, assignors, and
// of static, throttle, transactions and protocol why it does not have them; verbs
// has for each verb a function of the options that promises the exit code.
async function run(name, version, lacks, verbs) {
  const o = parse(process.argv.slice(2))
  if (o.verb === 'describe') {
    say(JSON.stringify({ name, version, codecs: CODECS.filter(c => !(c in lacks)), lacks }))
    process.exit(0)
  }
  const missing = lacking(o, lacks)
  if (missing || !verbs[o.verb]) {
    complain(missing ? `${name} ${version} has no ${missing}: ${lacks[missing]}` : `not a verb of this program: ${o.verb}`)
    process.exit(2)
  }
  try {
    process.exit(await verbs[o.verb](o))
  } catch (error) {
    complain(error)
    process.exit(1)
  }
}

module.exports = { HEARTBEAT_MS, Member, complain, library, records, run, say, transact, version }
