import { isDeepStrictEqual } from 'node:util'
import type { CleanOptions } from '@looseleaf/cleaner'
import { tunedCheckIndex, tunedCleanIndex, type Tuned } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type DriverFactory, type Entity } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { createRandom } from '@looseleaf-tooling/kit/random'

/*
 * Runs two versions of a program side by side, repeatedly. The second version adds an index, changes the
 * definition of one and drops one; then it is rolled back. All processes write and query during this.
 */

const byOwner = defineIndex('by_owner', { properties: { owner: 'string' }, shardOn: 'owner' })
const byOwnerAndRank = defineIndex('by_owner', {
  properties: { owner: 'string', rank: 'integer' },
  shardOn: 'id',
})
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })

const VERSIONS = [
  [byOwner, byTag],
  [byOwnerAndRank, byRank],
] as const
type Definition = (typeof VERSIONS)[number][number]

interface TaskBag {
  readonly n: number
  readonly owner: string
  readonly rank: number
  readonly tags: readonly string[]
}

/** State of an entity according to the answers to its writers. */
interface Known {
  readonly id: string
  bag: TaskBag
  version: number
  /** Acknowledged writes, each of which incremented `n`. */
  acknowledged: number
  /** Writes in flight, and writes begun so far. */
  inProgress: number
  begun: number
}

export interface RollingOptions {
  /** Returns shards for another process. */
  connect(): DriverFactory
  readonly cycles: number
  readonly entities: number
  readonly seed: number
  /** Least number of calls of each process between two steps of the deployment. */
  readonly callsAtLeast: number
  /** Retention of lost rows; short, to keep the test quick. */
  readonly queryTimeMs: number
}

export interface RollingResult {
  readonly acknowledged: number
  readonly answers: number
  /** Queries that were refused because a version still wanted a hidden index. */
  readonly refused: number
  /** Violations. */
  readonly wrong: readonly string[]
}

interface Process {
  readonly store: DataStore
  /** Lets the process make some more calls. */
  go(): Promise<void>
  /** Ends its calls. */
  rest(): Promise<void>
  close(): Promise<void>
}

const CLEAN: Tuned<CleanOptions> = { settleMs: 5, pollMs: 5, checkpointMs: 10 }
const OWNERS = ['ada', 'bob', 'cyd']
const TAGS = ['red', 'green', 'blue']

export async function rollingDeployment(options: RollingOptions): Promise<RollingResult> {
  const { cycles, callsAtLeast } = options
  const random = createRandom(options.seed)
  const wrong: string[] = []
  const counts = { acknowledged: 0, answers: 0, refused: 0 }
  const entities: Known[] = []
  /** The version whose indexes may be hidden from it now. */
  let mayRefuse: number | undefined

  function bagOf(n: number): TaskBag {
    const tags = TAGS.filter(() => random.chance(0.5))
    return { n, owner: random.pick(OWNERS), rank: random.below(4), tags }
  }

  async function open(version: number): Promise<DataStore> {
    const indexes = VERSIONS[version] as readonly Definition[]
    return DataStore.open({
      shards: options.connect(),
      indexes,
      migrate: true,
      queryTimeMs: options.queryTimeMs,
    })
  }

  async function write(store: DataStore): Promise<void> {
    const known = random.pick(entities)
    known.inProgress++
    known.begun++
    let next = known.bag
    const { version } = await store.update<TaskBag>(known.id, (bag) => {
      next = bagOf((bag['n'] as number) + 1)
      return next
    })
    counts.acknowledged++
    known.acknowledged++
    known.inProgress--
    if (version > known.version) Object.assign(known, { version, bag: next })
  }

  async function query(store: DataStore, version: number): Promise<void> {
    const definition = random.pick(VERSIONS[version] as readonly Definition[])
    const { rank, owner, tags } = bagOf(0)
    const tag = tags[0] ?? 'red'
    const [where, matches] =
      definition.name === 'by_tag'
        ? [{ tags: tag }, (bag: TaskBag) => bag.tags.includes(tag)]
        : definition.name === 'by_rank'
          ? [{ rank }, (bag: TaskBag) => bag.rank === rank]
          : [{ owner }, (bag: TaskBag) => bag.owner === owner]
    const before = entities.map(({ begun, inProgress }) => (inProgress === 0 ? begun : undefined))
    const allowed = mayRefuse
    let found: Entity[]
    try {
      found = (await store.getAll(definition as typeof byOwner, where as never, {
        scatter: true,
      })) as Entity[]
    } catch (error) {
      // On a busy machine the call may time out, and says so.
      if (isLooseleafError(error, 'DEADLINE')) return
      const isRefused =
        isLooseleafError(error, 'INDEX_NOT_READY') || isLooseleafError(error, 'INDEX_NOT_FOUND')
      if (!isRefused || ![allowed, mayRefuse].includes(version)) throw error
      counts.refused++
      return
    }
    counts.answers++
    const ids = new Set(found.map(({ id }) => id))
    for (const [i, { id, bag, begun }] of entities.entries()) {
      // An entity that was written during the read is uncertain.
      if (begun !== before[i]) continue
      if (matches(bag) === ids.has(id)) continue
      wrong.push(`${definition.name} of version ${version + 1}: ${id} ${matches(bag) ? 'missed' : 'found'}`)
    }
  }

  async function start(version: number): Promise<Process> {
    const store = await open(version)
    let isOver = false
    let calls = 0
    const work = async (call: () => Promise<void>): Promise<void> => {
      while (!isOver) {
        await call()
        calls++
        // Leaves processor time to the steps of the deployment, which take long while the load continues.
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    const failures: unknown[] = []
    const loops = [() => write(store), () => write(store), () => query(store, version)].map((call) =>
      work(call).catch((error: unknown) => void failures.push(error)),
    )
    return {
      store,
      async go() {
        const enough = calls + callsAtLeast
        while (calls < enough && failures.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        if (failures.length > 0) throw failures[0]
      },
      async rest() {
        isOver = true
        await Promise.all(loops)
        if (failures.length > 0) throw failures[0]
      },
      close: () => store.close(),
    }
  }

  const first = await open(0)
  for (let i = 0; i < options.entities; i++) {
    const bag = bagOf(0)
    const { id, version } = await first.put(bag)
    entities.push({ id, bag, version, acknowledged: 0, inProgress: 0, begun: 0 })
  }
  await first.close()

  const all: Process[] = []
  try {
    let old = await start(0)
    all.push(old)
    for (let cycle = 0; cycle < cycles; cycle++) {
      const from = cycle % 2
      const to = 1 - from
      await old.go()
      // The deployer adds and fills the next version's indexes before that version starts.
      const deployer = await open(to)
      const building = (await deployer.indexes()).filter(({ state }) => state === 'building')
      await tunedCleanIndex(deployer, [...new Set(building.map(({ name }) => name))], CLEAN)
      const next = await start(to)
      all.push(next)
      await Promise.all([old.go(), next.go()])

      const unused = VERSIONS[from] as readonly Definition[]
      if (random.chance(0.5)) {
        // Too early: the old version still runs, and must get its indexes back at once.
        mayRefuse = from
        for (const definition of unused) await deployer.hideIndex(definition)
        await Promise.all([old.go(), next.go()])
        for (const definition of unused) await deployer.restoreIndex(definition)
        mayRefuse = undefined
        await Promise.all([old.go(), next.go()])
      }
      await old.rest()
      await old.close()
      for (const definition of unused) await deployer.hideIndex(definition)
      await next.go()
      // In half of the rounds, the next deployment finds the indexes hidden and has nothing to fill.
      if (random.chance(0.5)) for (const definition of unused) await deployer.dropIndex(definition)
      await next.go()
      await deployer.close()
      old = next
    }
    await old.go()
    await old.rest()
    wrong.push(...(await compare(old.store, entities)))
  } finally {
    await Promise.allSettled(all.map((process) => process.rest()))
    await Promise.allSettled(all.map((process) => process.close()))
  }
  return { ...counts, wrong }
}

/**
 * Compares every entity with its acknowledged writes, and every index row with the entities, including hidden
 * indexes.
 */
async function compare(store: DataStore, entities: readonly Known[]): Promise<string[]> {
  const wrong: string[] = []
  for (const { id, bag, acknowledged } of entities) {
    const { id: _, ...found } = (await store.get(id)) ?? {}
    if (!isDeepStrictEqual(found, bag) || bag.n !== acknowledged)
      wrong.push(
        `${id} is ${JSON.stringify(found)} after ${acknowledged} writes, the last ${JSON.stringify(bag)}`,
      )
  }
  const kept = (await store.indexes()).filter(({ unique }) => !unique)
  const check = async (when: string, isExact: boolean): Promise<void> => {
    for (const { name, generation } of kept) {
      const { missing, misplaced, dangling } = await tunedCheckIndex(
        store,
        { name, generation },
        { settleMs: 5 },
      )
      if (missing + misplaced + (isExact ? dangling : 0) > 0)
        wrong.push(
          `${when}, ${name} of generation ${generation}: ${missing} missing, ${misplaced} misplaced, ${dangling} dangling`,
        )
    }
  }
  await check('before a cleaning', false)
  for (const { name, generation } of kept) await tunedCleanIndex(store, { name, generation }, CLEAN)
  await check('after a cleaning', true)
  return wrong
}
