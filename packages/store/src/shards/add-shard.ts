import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { badOption, badArgument, type CatalogEntry, type StoreLayout } from '@looseleaf/core/internal'
import {
  CATALOG_FORMAT,
  changeCatalogContents,
  contentsOf,
  copiedEpochs,
  loadShardCatalog,
  loadShardCatalogs,
  mergeCatalogs,
  anyCatalog,
  presentShards,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { exclusively } from '../catalog/catalog-lease.ts'
import { createIndexTable, createTables } from '../catalog/create-tables.ts'
import { requireUsable } from './check-database.ts'
import { requireCandidate, type Candidate } from './check-candidate.ts'
import { leaveRefused } from './leave-refused.ts'

export interface AddShardOptions extends CallOptions {
  /** Checks the database and the rights of its user only, and changes nothing. Default: false. */
  readonly dryRun?: boolean | undefined
}

export interface AddedShard {
  readonly number: number
  readonly address: string
  /** False if the shard had joined before, or joined by another call at the same time, and for `dryRun`. */
  readonly added: boolean
  /** Warnings of unsafe settings of its server. */
  readonly warnings: readonly string[]
}

/** Attempts while other processes add shards or indexes. */
const MAX_ATTEMPTS = 50

/** Result of an attempt to change the layout. */
type Outcome = 'done' | 'again'

export async function addShard(
  context: EngineContext,
  address: string | object,
  { dryRun = false, signal }: AddShardOptions,
): Promise<AddedShard> {
  const { driver } = context
  if (typeof address !== 'string' && (typeof address !== 'object' || address === null))
    throw badArgument('shards.add', 'the address, the URL or the options of a shard', address)
  if (driver.shardAt === undefined)
    throw badOption('The driver of this store knows only the shards that it was given.')
  const shard = driver.shardAt(address)
  return leaveRefused(context, shard, () => addDatabase(context, shard, { dryRun, signal }))
}

async function addDatabase(
  context: EngineContext,
  shard: Shard,
  { dryRun, signal }: AddShardOptions,
): Promise<AddedShard> {
  const candidate = await requireCandidate(context, shard, { signal })
  const { number, isMember } = candidate
  const isWhole = await hasJoined(context, candidate, { signal })
  if (!isWhole) await requireUsable(context, shard, { signal })
  const added =
    !dryRun &&
    !isWhole &&
    (await exclusively(context, { signal }, () => joinShard(context, shard, { signal })))
  const joined = dryRun ? number : ((await loadShardCatalog(shard, { signal }))?.shardNumber ?? number)
  // A file is created above, so its warnings are read at the end.
  const warnings = dryRun && !isMember ? [] : await shard.warnings({ signal })
  return { number: joined, address: shard.name, added, warnings }
}

/**
 * Makes a database a shard, in steps that may each be repeated:
 * 1. Its tables, the tables of all indexes and the codec entries, before any process sends it a query.
 * 2. Its own catalog, by which it owns no bucket.
 * 3. The layout, in the state `joining`: every process then includes it when it changes the indexes or stores codec entries.
 * 4. Tables and codec entries that processes without knowledge of it have added in the meantime. Then it serves.
 *
 * Resolves with false if the shard served before, by another call.
 */
async function joinShard(context: EngineContext, shard: Shard, options: CallOptions): Promise<boolean> {
  const isNew = !(await hasJoined(context, await requireCandidate(context, shard, options), options))
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { number } = await requireCandidate(context, shard, options)
    const prepared = await prepareTables(context, shard, options)
    await writeCatalog(context, shard, number, options)
    if ((await announce(context, shard, number, prepared, options)) === 'again') continue
    const known = await prepareTables(context, shard, options)
    if ((await serve(context, number, known, options)) === 'done') return isNew
  }
  throw new LooseleafError(
    'CONFLICT',
    `Other processes changed the catalog ${MAX_ATTEMPTS} times in a row. Add ${shard.name} again when they are done.`,
    { shard: shard.name },
  )
}

/** Creates the tables that the store has, and copies its codec entries. Returns the names of the index tables. */
async function prepareTables(
  { driver }: EngineContext,
  shard: Shard,
  options: CallOptions,
): Promise<ReadonlySet<string>> {
  await createTables(shard, options)
  const catalog = mergeCatalogs(await loadShardCatalogs(driver, options))
  for (const entry of catalog.indexes) await createIndexTable(shard, entry, options)
  if (catalog.hasDefinitions) {
    const entries = await Promise.all(
      presentShards(driver).map(({ codecEntries }) => codecEntries.all(options)),
    )
    const byId = new Map(entries.flat().map((entry) => [entry.id, entry]))
    await shard.codecEntries.add([...byId.values()], options)
  }
  await shard.flush(options)
  return new Set(catalog.indexes.map(({ table }) => table))
}

async function writeCatalog(
  { driver }: EngineContext,
  shard: Shard,
  number: number,
  options: CallOptions,
): Promise<void> {
  const source = anyCatalog(await loadShardCatalogs(driver, options))
  const serves = { owns: '' }
  const own = {
    format: CATALOG_FORMAT,
    storeId: source.storeId,
    shardNumber: number,
    shardCount: number + 1,
    router: source.router,
    queryTimeMs: source.queryTimeMs,
    serves,
    ...contentsOf(source),
  }
  const current = await loadShardCatalog(shard, options)
  if (current === undefined) {
    const epochs = await copiedEpochs(shard, { epoch: 0, serves }, source, options)
    // If another process has written it first, the check of the next steps finds its number.
    await shard.catalog.init({ ...own, ...epochs }, options)
  } else if (current.shardNumber !== number) {
    // Another shard got this number first. No process knows this database as a shard yet.
    const epochs = await copiedEpochs(shard, current, source, options)
    await shard.catalog.change({ ...own, ...epochs }, current.epoch, options)
  }
}

/** Appends the shard to the layout, unless another process has appended one, or added an index whose table it lacks. */
async function announce(
  context: EngineContext,
  shard: Shard,
  number: number,
  prepared: ReadonlySet<string>,
  options: CallOptions,
): Promise<Outcome> {
  if ((await loadShardCatalog(shard, options))?.shardNumber !== number) return 'again'
  const { name } = shard
  return changeLayout(context, prepared, options, (layout) => {
    if (layout.shards[number]?.name === name) return layout
    if (layout.shards.length !== number) return undefined
    return withShards(layout, [...layout.shards, { name, buckets: '', state: 'joining' }])
  })
}

/** Ends the state `joining`. */
async function serve(
  context: EngineContext,
  number: number,
  prepared: ReadonlySet<string>,
  options: CallOptions,
): Promise<Outcome> {
  return changeLayout(context, prepared, options, (layout) => {
    const shards = layout.shards.map((each, at) => {
      const { state, ...serving } = each
      return at === number && state === 'joining' ? serving : each
    })
    return layout.shards[number]?.state === 'joining' ? withShards(layout, shards) : layout
  })
}

const withShards = (layout: StoreLayout, shards: StoreLayout['shards']): StoreLayout => ({
  ...layout,
  revision: layout.revision + 1,
  shards,
})

/** Changes the layout if all index tables are prepared and `change` returns another one. `undefined` asks for another attempt. */
async function changeLayout(
  { driver, catalog }: EngineContext,
  prepared: ReadonlySet<string>,
  options: CallOptions,
  change: (layout: StoreLayout) => StoreLayout | undefined,
): Promise<Outcome> {
  let outcome: Outcome = 'again'
  const isPrepared = ({ state, table }: CatalogEntry): boolean => state === 'dropped' || prepared.has(table)
  const changed = await changeCatalogContents(
    driver,
    (contents) => {
      const next = contents.layout && contents.indexes.every(isPrepared) ? change(contents.layout) : undefined
      outcome = next === undefined ? 'again' : 'done'
      if (next === undefined || next === contents.layout) return undefined
      return { ...contents, layout: next }
    },
    options,
  )
  catalog.adopt(changed)
  return outcome
}

/** Tells whether a member of the store is a whole shard, and not one whose tables are still being made. */
async function hasJoined(
  { driver }: EngineContext,
  { number, isMember }: Candidate,
  options: CallOptions,
): Promise<boolean> {
  if (!isMember) return false
  const { layout } = mergeCatalogs(await loadShardCatalogs(driver, options))
  return layout?.shards[number]?.state !== 'joining'
}
