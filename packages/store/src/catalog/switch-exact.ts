import type { CallOptions, Driver } from '@looseleaf/core'
import { badOption, type CatalogEntry } from '@looseleaf/core/internal'
import {
  changeCatalogContents,
  hasNearRows,
  keptRowsMs,
  latestContentsEpoch,
  presentShards,
  type CatalogContents,
  type EngineContext,
  type StoreDriver,
} from '@looseleaf/index-engine/internal'
import { exclusively } from './catalog-lease.ts'
import { NOTICE_MS } from './catalog-watch.ts'

/** Tells whether the driver has what readers of exact indexes need. */
export function hasSnapshots(driver: Pick<Driver, 'shards'>): boolean {
  return presentShards(driver).every((shard) =>
    [shard, ...(shard.replicas ?? [])].every(({ snapshot }) => snapshot !== undefined),
  )
}

/**
 * Returns the step with which an index comes into use in a store with exact indexes. It may delete at once from the beginning: no process
 * that reads it without protection knows it, and it is not queried before all writers know it. With one shard, all rows are local.
 */
export function firstStep(entry: CatalogEntry, driver: StoreDriver): Pick<CatalogEntry, 'exact'> {
  const isWorthIt = hasNearRows(entry) || (!entry.unique && presentShards(driver).length === 1)
  return isWorthIt ? { exact: 'on' } : {}
}

/**
 * Makes the indexes exact whose rows are local, now and when they are added, or makes all indexes late again. Returns when the change is in
 * force everywhere. If the process dies before, the next call continues.
 */
export async function switchExact(
  context: EngineContext,
  isOn: boolean,
  options: CallOptions = {},
): Promise<void> {
  if (isOn && !hasSnapshots(context.driver)) {
    throw badOption(
      'Exact indexes need snapshots, and the driver of a shard has none. SQLite in memory cannot have them.',
    )
  }
  await exclusively(context, options, (renew) =>
    isOn ? switchOn(context, renew, options) : switchOff(context, options),
  )
}

/**
 * The order of the steps:
 * 1. All writers count the rows of the index, so that none deletes a row of another index by the old knowledge. From now on the store refuses
 *    processes that do not protect their reads.
 * 2. All readers protect themselves. The call waits until every process has read the catalog, and until every query that began before has ended.
 * 3. Writers delete at once.
 */
async function switchOn(
  context: EngineContext,
  renew: () => Promise<boolean>,
  options: CallOptions,
): Promise<void> {
  const { driver, catalog, time } = context
  const isWanted = (entry: CatalogEntry): boolean => firstStep(entry, driver).exact !== undefined
  for (;;) {
    await change(context, options, { exactIndexes: true }, (entry) => {
      if (isWanted(entry)) return { exact: 'counted', ...entry }
      return entry.exact === 'on' ? { ...entry, exact: 'protected' } : entry
    })
    await change(context, options, {}, (entry) => {
      if (!isWanted(entry)) return withoutStep(entry)
      return entry.exact === 'counted' ? { ...entry, exact: 'protected' } : entry
    })
    if (!catalog.current().indexes.some(({ exact }) => exact === 'protected')) return
    const contentsEpoch = latestContentsEpoch(catalog.current())
    await time.sleep(NOTICE_MS + keptRowsMs(catalog.current()), options.signal)
    await endWait(context, contentsEpoch, renew, options)
  }
}

/**
 * Lets writers delete at once after a wait that began with these contents. If another process has had the lease since, it may have switched off, and
 * on again, and wait itself: then only these contents are changed. Otherwise later ones are, too, so that moves do not begin the wait again. They
 * are read before the lease is renewed, because this process may be suspended in between.
 */
async function endWait(
  context: EngineContext,
  since: number,
  renew: () => Promise<boolean>,
  options: CallOptions,
): Promise<void> {
  const { catalog } = context
  const isProtected = ({ exact }: CatalogEntry): boolean => exact === 'protected'
  for (let isHeld = true; isHeld && catalog.current().indexes.some(isProtected);) {
    const now = latestContentsEpoch(await catalog.reload(options))
    isHeld = await renew()
    await change(context, { ...options, contentsEpoch: isHeld ? now : since }, {}, (entry) =>
      isProtected(entry) ? { ...entry, exact: 'on' } : entry,
    )
  }
}

/** First no writer deletes at once any more. Then readers need no protection, and processes that lack it may take part. */
async function switchOff(context: EngineContext, options: CallOptions): Promise<void> {
  await change(context, options, {}, (entry) =>
    entry.exact === 'on' ? { ...entry, exact: 'protected' } : entry,
  )
  await change(context, options, { exactIndexes: undefined }, withoutStep)
}

function withoutStep({ exact: _, ...entry }: CatalogEntry): CatalogEntry {
  return entry
}

/** Resolves when no shard accepts a write by the contents before. Every shard has the new contents, or later ones. */
async function change(
  { driver, catalog }: EngineContext,
  options: CallOptions & { readonly contentsEpoch?: number },
  switched: Pick<CatalogContents, 'exactIndexes'>,
  step: (entry: CatalogEntry) => CatalogEntry,
): Promise<void> {
  const stepsOf = ({ exactIndexes, indexes }: CatalogContents): string =>
    JSON.stringify([exactIndexes, indexes.map(({ table, exact }) => [table, exact])])
  let wanted = ''
  const changed = await changeCatalogContents(
    driver,
    (contents) => {
      const next = { ...contents, ...switched, indexes: contents.indexes.map(step) }
      wanted = stepsOf(next)
      return wanted === stepsOf(contents) ? undefined : next
    },
    { ...options, holds: (contents) => stepsOf(contents) === wanted },
  )
  catalog.adopt(changed)
}
