import { setTimeout as sleep } from 'node:timers/promises'
import { holdsWithin } from '../../lab/until.ts'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Fault, FaultRule, Occasion } from '../../lab/proxy/fault.ts'
import type { Facts, Scenario, Stage } from './scenario.ts'

/** Applies a rule to every shard for `amount` seconds and returns the number of faults. */
async function withRule({ cluster, amount }: Stage, ruleOf: (shard: number) => FaultRule): Promise<Facts> {
  const before = injected(cluster.shards)
  for (const [shard, { proxy }] of cluster.shards.entries()) proxy.setRule(ruleOf(shard))
  await sleep(amount * 1000)
  for (const { proxy } of cluster.shards) proxy.heal()
  return { faults: injected(cluster.shards) - before }
}

function injected(shards: Stage['cluster']['shards']): number {
  return shards.reduce(
    (sum, { proxy }) => sum + Object.values(proxy.injected).reduce((all, count) => all + count, 0),
    0,
  )
}

const sometimes =
  (random: Random, chance: number, fault: () => Fault): FaultRule =>
  (occasion) =>
    occasion.kind === 'request' && random.chance(chance) ? fault() : undefined

/** True for a write to an entity table, whose answer acknowledges it. */
function commits(occasion: Occasion): boolean {
  if (occasion.kind !== 'request') return false
  const text = occasion.bytes.subarray(0, 400).toString('latin1')
  return /INSERT INTO `entities`|UPDATE|COMMIT/.test(text)
}

/**
 * True for a statement that reads back versions only. A batch does so within its transaction when it has more
 * writes than one answer can name.
 */
function readsBack(occasion: Occasion): boolean {
  if (occasion.kind !== 'request') return false
  return /SELECT id, version FROM/.test(occasion.bytes.subarray(0, 200).toString('latin1'))
}

const SECONDS = 25

interface ProxyFault {
  readonly name: string
  readonly what: string
  readonly rule: (random: Random) => FaultRule
}

const faults: readonly ProxyFault[] = [
  {
    name: 'reset mid-statement',
    what: 'connections are reset after the first bytes of a statement',
    rule: (random) => sometimes(random, 0.02, () => ({ kind: 'reset', afterBytes: random.below(200) })),
  },
  {
    name: 'answer lost after commit',
    what: 'a commit goes through, and the connection is reset before its answer',
    rule: (random) => (occasion) =>
      commits(occasion) && random.chance(0.15) ? { kind: 'lose answer' } : undefined,
  },
  {
    name: 'reading back cut off',
    what: 'a batch of many writes is reset within its transaction, while it reads back its winners',
    rule: (random) => (occasion) =>
      readsBack(occasion) && random.chance(0.5) ? { kind: 'reset', afterBytes: 0 } : undefined,
  },
  {
    name: 'truncated answer',
    what: 'an answer ends after its first bytes, with a regular close',
    rule: (random) => sometimes(random, 0.02, () => ({ kind: 'truncate answer', bytes: random.below(40) })),
  },
  {
    name: 'silence both ways',
    what: 'connections fall silent in both directions and stay open',
    rule: (random) => sometimes(random, 0.006, () => ({ kind: 'silence', direction: 'both' })),
  },
  {
    name: 'silence to the server',
    what: 'statements no longer arrive, and the connection stays open',
    rule: (random) => sometimes(random, 0.006, () => ({ kind: 'silence', direction: 'to server' })),
  },
  {
    name: 'silence to the client',
    what: 'statements arrive and run, but answers no longer arrive',
    rule: (random) => sometimes(random, 0.006, () => ({ kind: 'silence', direction: 'to client' })),
  },
  {
    name: 'latency',
    what: 'connections become slow by up to 150 ms each way',
    rule: (random) => sometimes(random, 0.05, () => ({ kind: 'latency', milliseconds: random.below(150) })),
  },
  {
    name: 'latency beyond the deadline',
    what: 'some statements arrive after their deadline, when the client has given up',
    rule: (random) => sometimes(random, 0.006, () => ({ kind: 'latency', milliseconds: 1_500 })),
  },
  {
    name: 'trickle',
    what: 'bytes arrive a few at a time',
    rule: (random) =>
      sometimes(random, 0.05, () => ({ kind: 'trickle', bytes: 20 + random.below(100), pauseMs: 1 })),
  },
  {
    name: 'accept then silent',
    what: 'new connections are accepted and never greeted, while old ones are reset',
    rule: (random) => (occasion) => {
      if (occasion.kind === 'connect')
        return random.chance(0.5) ? { kind: 'accept and be silent' } : undefined
      return random.chance(0.01) ? { kind: 'reset', afterBytes: 0 } : undefined
    },
  },
]

export const proxyScenarios: readonly Scenario[] = faults.map(({ name, what, rule }) => ({
  name,
  what,
  unit: 'seconds',
  full: SECONDS,
  ...(name === 'reading back cut off' && { config: { clients: 160 } }),
  run: (stage) => withRule(stage, () => rule(stage.random)),
}))

export const everyProxyFault: Scenario = {
  name: 'every network fault',
  what: 'all network faults above at once, each at a low rate',
  unit: 'seconds',
  full: 30,
  short: 3,
  run(stage) {
    const rules = faults.map(({ rule }) => rule(stage.random))
    return withRule(stage, () => (occasion) => {
      return stage.random.pick(rules)(occasion)
    })
  },
}

export const shardDown: Scenario = {
  name: 'index shard down',
  what: 'one shard refuses every connection for the whole time, without a break',
  unit: 'seconds',
  full: 30,
  needsErrors: ['SHARD_UNAVAILABLE'],
  run: takeShardAway,
}

/** Cleaners retry with growing delays: half a second, one second, two seconds … */
const DRAINED_MS = 90_000

export const shardDownDeferred: Scenario = {
  name: 'index shard down, deferred',
  what: "the same with onIndexFailure 'defer': entities are written with pending rows instead of the rows on that shard; a query that may lack one reports it, and a cleaner writes the rows later",
  unit: 'seconds',
  full: 30,
  short: 3,
  config: { writing: { onIndexFailure: 'defer' } },
  needs: ['refused', 'notes in the end of it'],
  async run(stage) {
    const { tables } = stage
    const facts = await takeShardAway(stage)
    const notes = (await tables.pending()).size
    const started = performance.now()
    if (!(await holdsWithin(DRAINED_MS, async () => (await tables.pending()).size === 0)))
      stage.wrong('the cleaner of the load has not written the pending rows')
    return {
      ...facts,
      'notes in the end of it': notes,
      'ms until nothing was pending': Math.round(performance.now() - started),
    }
  },
}

/** One shard refuses everything for the whole time. */
async function takeShardAway({ cluster, amount }: Stage): Promise<Facts> {
  const proxy = cluster.shards[1]?.proxy
  const before = proxy?.injected['refuse'] ?? 0
  proxy?.setRule(({ kind }) => (kind === 'connect' ? { kind: 'refuse' } : undefined))
  proxy?.resetAll()
  await sleep(amount * 1000)
  proxy?.heal()
  return { refused: (proxy?.injected['refuse'] ?? 0) - before }
}

export const entityFirst: Scenario = {
  name: 'entity first',
  what: "with writeOrder 'entity-first', the order of the original article, and all network faults: queries may lack entities for a while, and in the end all tables must be exact",
  unit: 'seconds',
  full: 25,
  config: { writing: { writeOrder: 'entity-first' } },
  run: everyProxyFault.run,
}

export const soak: Scenario = {
  name: 'soak',
  what: 'three minutes of load with occasional network faults of all kinds: memory, sockets and connections must not grow',
  unit: 'seconds',
  full: 180,
  run(stage) {
    const { random } = stage
    const rules = faults.map(({ rule }) => rule(random))
    // Rare enough for the load to run at full speed most of the time.
    return withRule(
      stage,
      () => (occasion) => (random.chance(0.1) ? random.pick(rules)(occasion) : undefined),
    )
  },
}
