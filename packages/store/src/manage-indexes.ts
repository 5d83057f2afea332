import { randomUUID } from 'node:crypto'
import {
  isLooseleafError,
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type IndexDefinitionData,
  type Shard,
} from '@looseleaf/core'
import { changeCatalog, sameRows, tableName, tableSpec, type EngineContext } from '@looseleaf/index-engine'

/** One process at a time adds or drops indexes; a dead one is waited for this long. */
const LEASE_MS = 60_000
const TASK = 'catalog'
const RETRY_MS = 250

/**
 * Adds an index while the store is in use: creates its tables, then makes every writer write it (state `building`).
 * The cleaner fills it and makes it ready. Nothing happens where the store has this very definition already; a change of
 * `onMisfit` alone takes effect at once; any other changed definition becomes a new generation beside the old one.
 */
export async function addIndex(
  context: EngineContext,
  definition: IndexDefinitionData,
  options: CallOptions = {},
): Promise<void> {
  await exclusively(context, options, async () => {
    const catalog = await context.catalog.reload()
    const same = catalog.indexes.find((entry) => sameRows(entry, definition) && entry.state !== 'retiring')
    if (same !== undefined) {
      if (same.onMisfit !== definition.onMisfit)
        await changeMisfits(context, same.table, definition.onMisfit, options)
      return
    }
    const generation = await nextGeneration(context, definition.name)
    const { name, properties, shardOn, onMisfit } = definition
    const entry: CatalogEntry = {
      name,
      properties,
      shardOn,
      onMisfit,
      generation,
      table: tableName(definition, generation),
      state: 'building',
    }
    await everyShard(context, (shard) => shard.createIndexTable(tableSpec(entry), options))
    context.catalog.adopt(await changeCatalog(context.driver, (indexes) => [...indexes, entry], options))
  })
}

/**
 * Drops an index while the store is in use: first no process may query it any more, then its tables go, then it is no
 * longer written. With a definition only its generation is dropped, with a name all of them. False if there is none.
 */
export async function dropIndex(
  context: EngineContext,
  which: string | IndexDefinitionData,
  options: CallOptions = {},
): Promise<boolean> {
  const meant = (entry: CatalogEntry): boolean =>
    entry.state !== 'dropped' && (typeof which === 'string' ? entry.name === which : sameRows(entry, which))

  return exclusively(context, options, async () => {
    const catalog = await context.catalog.reload()
    const going = catalog.indexes.filter(meant)
    if (going.length === 0) return false
    const tables = new Set(going.map((entry) => entry.table))
    for (const state of ['retiring', 'dropped'] as const) {
      // A reader with an older catalog must not find the table there but no longer written: it goes before the writing ends.
      if (state === 'dropped') {
        for (const entry of going) {
          await everyShard(context, (shard) => shard.dropIndexTable(tableSpec(entry), options))
        }
      }
      const changed = await changeCatalog(
        context.driver,
        (indexes) => indexes.map((entry) => (tables.has(entry.table) ? { ...entry, state } : entry)),
        options,
      )
      context.catalog.adopt(changed)
    }
    return true
  })
}

/** What becomes of misfits is a matter of the writers alone; the rows are the same. */
async function changeMisfits(
  context: EngineContext,
  table: string,
  onMisfit: CatalogEntry['onMisfit'],
  options: CallOptions,
): Promise<void> {
  const changed = await changeCatalog(
    context.driver,
    (indexes) => indexes.map((entry) => (entry.table === table ? { ...entry, onMisfit } : entry)),
    options,
  )
  context.catalog.adopt(changed)
}

/** One more than the last generation under this name; dropped ones count, so that no table's name is used twice. */
async function nextGeneration(context: EngineContext, name: string): Promise<number> {
  const catalog = await (context.driver.shards[0] as Shard).catalog.load()
  const generations =
    catalog?.indexes.filter((entry) => entry.name === name).map((entry) => entry.generation) ?? []
  return Math.max(0, ...generations) + 1
}

async function everyShard(context: EngineContext, work: (shard: Shard) => Promise<void>): Promise<void> {
  await Promise.all(context.driver.shards.map(work))
}

async function exclusively<T>(
  context: EngineContext,
  options: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { tasks, name } = context.driver.shards[0] as Shard
  const owner = randomUUID()
  const deadline = context.time.now() + 2 * LEASE_MS

  /** A claim whose answer was lost is made again: for the same owner it makes no difference how often. */
  async function claim(): Promise<boolean> {
    try {
      return (await tasks.claim(TASK, owner, LEASE_MS, options)) !== undefined
    } catch (error) {
      if (isLooseleafError(error) && error.unknownOutcome) return false
      throw error
    }
  }

  while (!(await claim())) {
    if (context.time.now() > deadline) {
      throw new LooseleafError('SHARD_BUSY', 'Another process is changing the indexes of this store.', {
        shard: name,
      })
    }
    await context.time.sleep(RETRY_MS, options.signal)
  }
  try {
    return await work()
  } finally {
    // What the work has come to counts; a lease that cannot be given up runs out.
    await tasks.save(TASK, owner, '', 0).catch(() => undefined)
  }
}
