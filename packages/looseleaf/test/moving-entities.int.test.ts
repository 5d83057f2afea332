import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { wrapShard, type ShardCatalog } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore, mysqlShards, type DriverFactory, type EntityId } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { byList, byPlace, byTag, PLACES, RANKS } from './moving-entities.ts'

const PROGRAM = await bundleOf(new URL('./move-entities.ts', import.meta.url))
const ENTITIES = 20
/** Readings of each kind beside readers that protect themselves. */
const READINGS = 8

const onWarning = (): void => {}
const SCATTER = { scatter: true } as const

interface Mover {
  stop(): Promise<number>
}

async function startMover(ids: readonly EntityId[], urls: readonly string[]): Promise<Mover> {
  const child = spawn(process.execPath, [PROGRAM, ids.join(','), ...urls], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')
  return {
    async stop() {
      child.stdin.write('\n')
      return Number((await lines.next()).value)
    },
  }
}

/** Writes rows of crashed writers among those of the entities, so that pages have to read on. */
async function writeLeftovers({ context }: DataStore): Promise<void> {
  const entry = context.catalog.current().indexes.find(({ name }) => name === 'by_list')!
  for (const shard of context.driver.shards) {
    const rows = Array.from({ length: 60 }, (_, i) => ({
      key: [Buffer.from('all'), BigInt(Math.floor((i * RANKS) / 60))],
      entityId: randomBytes(16),
      version: 1,
    }))
    await shard.index(tableSpec(entry)).upsert(rows)
  }
}

/** Connects without the knowledge that indexes are exact, as a reader that does not protect itself. */
function unprotected(urls: readonly string[]): DriverFactory {
  const factory = mysqlShards(urls)
  const withoutSteps = (catalog: ShardCatalog | undefined): ShardCatalog | undefined =>
    catalog && { ...catalog, indexes: catalog.indexes.map(({ exact: _, ...entry }) => entry) }
  return {
    ...factory,
    async connect(options) {
      const driver = await factory.connect(options)
      const shards = driver.shards.map((shard) =>
        wrapShard(shard, {
          catalog: ({ load }) => ({ load: async (call) => withoutSteps(await load(call)) }),
        }),
      )
      return { ...driver, shards }
    },
  }
}

/**
 * Reads while two processes move the entities, until it is enough. Returns the least number of found entities by kind of call, and the moves
 * of the slower process.
 */
async function readBesideMovers(
  shardCount: number,
  connect: (urls: readonly string[]) => DriverFactory,
  isEnough: (readings: number, found: Readonly<Record<string, number>>) => boolean,
): Promise<{ readonly found: Readonly<Record<string, number>>; readonly moves: number }> {
  const { urls } = await freshShards(shardCount)
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [byPlace, byList, byTag],
    migrate: true,
    onWarning,
  })
  onTestFinished(() => store.close())
  const put = (i: number): Promise<{ id: EntityId }> =>
    store.put({ list: 'all', tag: 'all', place: i % PLACES, rank: i })
  const ids = (await Promise.all(Array.from({ length: ENTITIES }, (_, i) => put(i)))).map(({ id }) => id)
  await writeLeftovers(store)
  const reader = await DataStore.open({ shards: connect(urls), onWarning })
  onTestFinished(() => reader.close())
  const movers = [
    await startMover(ids.slice(0, ENTITIES / 2), urls),
    await startMover(ids.slice(ENTITIES / 2), urls),
  ]
  const places = Array.from({ length: PLACES }, (_, i) => i)
  const conditions = [
    { index: byTag, where: { tag: 'all' } },
    { index: byList, where: { list: 'all' } },
  ] as const
  const calls: Readonly<Record<string, () => Promise<number>>> = {
    'a page of many values': async () =>
      (await reader.query(byPlace, { place: { in: places } }, SCATTER)).items.length,
    'a page that reads on': async () =>
      (await reader.query(byList, { list: 'all' }, { limit: ENTITIES, ...SCATTER })).items.length,
    'a page backward': async () =>
      (await reader.query(byList, { list: 'all' }, { limit: ENTITIES, order: 'desc', ...SCATTER })).items
        .length,
    getAll: async () => (await reader.getAll(byPlace, { place: { in: places } }, SCATTER)).length,
    count: () => reader.count(byPlace, { place: { in: places } }, SCATTER),
    'an intersection': async () => (await reader.intersect(conditions, SCATTER)).items.length,
  }
  const found: Record<string, number> = {}
  for (let i = 0; !isEnough(i, found); i++)
    for (const [name, call] of Object.entries(calls))
      found[name] = Math.min(found[name] ?? Infinity, await call())
  const moves = await Promise.all(movers.map((mover) => mover.stop()))
  return { found, moves: Math.min(...moves) }
}

test.each([1, 2])(
  'a reader of moving entities on %i shards never misses one, in any call',
  async (shards) => {
    const { found, moves } = await readBesideMovers(
      shards,
      (urls) => mysqlShards(urls),
      (readings) => readings === READINGS,
    )
    expect(Object.entries(found).filter(([, count]) => count !== ENTITIES)).toEqual([])
    expect(moves).toBeGreaterThan(ENTITIES)
  },
  120_000,
)

test('a reader that does not protect itself misses entities that move, in each call of several statements', async () => {
  const missed = (found: Readonly<Record<string, number>>): boolean =>
    Object.values(found).every((count) => count < ENTITIES)
  const { found } = await readBesideMovers(1, unprotected, (readings, each) => readings > 0 && missed(each))
  expect(missed(found)).toBe(true)
}, 120_000)
