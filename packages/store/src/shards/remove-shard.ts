import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { badOption, isOutage, type StoreLayout } from '@looseleaf/core/internal'
import {
  anyCatalog,
  bucketsOf,
  changeCatalogContents,
  copyCatalog,
  isRemoved,
  keptRowsMs,
  loadShardCatalogs,
  presentShards,
  propagateCatalog,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { copyRegistrations, loadOwn, shardAt, UNCHECKED_WAIT_MS } from '@looseleaf/protocol/internal'
import { exclusively } from '../catalog/catalog-lease.ts'
import { contentsLeft, fullSources, layoutObstacles, ownObstacles } from './removal-obstacles.ts'

export interface RemoveShardOptions extends CallOptions {
  /** Checks only whether the shard is still needed, and changes nothing. Default: false. */
  readonly dryRun?: boolean | undefined
}

/** Milliseconds in which every process that is running has looked at the catalog. Loops that follow a shard look every six seconds. */
const NOTICED_MS = 2 * UNCHECKED_WAIT_MS

/**
 * Removes a shard in steps that may each be repeated:
 * 1. The change of the catalog, on the leading shard and then on the others. From then on no process sends the shard a new statement once it
 *    knows the change.
 * 2. The catalog of the shard itself, so that its database tells what it was.
 * 3. The wait until every running process knows the change, and the calls have ended that began before.
 */
export async function removeShard(
  context: EngineContext,
  number: number,
  { dryRun = false, signal }: RemoveShardOptions,
): Promise<void> {
  const { driver, catalog, time } = context
  if (bucketsOf(context.router) === undefined)
    throw badOption(
      'The router of this store has no buckets, so its layout is fixed, and no shard can be removed.',
    )
  const { layout } = await catalog.reload({ signal })
  if (dryRun) {
    if (!isRemoved(layout, number)) await requireUnneeded(context, number, { signal })
    return
  }
  if (isRemoved(layout, number)) {
    // An earlier call may have stopped after the first shard had the change.
    catalog.adopt(await propagateCatalog(driver, { signal }))
  } else {
    const shard = shardAt(context, number)
    await exclusively(context, { signal }, async () => {
      await requireUnneeded(context, number, { signal })
      await copyCodecEntries(context, shard, { signal })
      await copyRegistrations(context, number, { signal })
      await announce(context, number, { signal })
      await tell(context, shard, { signal })
    })
  }
  await time.sleep(NOTICED_MS + keptRowsMs(catalog.current()), signal)
}

/** Throws `CONFLICT` with everything for which the shard is still needed. */
async function requireUnneeded(context: EngineContext, number: number, options: CallOptions): Promise<void> {
  const { layout, indexes } = await context.catalog.reload(options)
  const own = await loadOwn(context, number, options)
  const obstacles = [
    ...layoutObstacles(layout as StoreLayout, indexes, number),
    ...ownObstacles(own.serves, layout?.shards[number]?.buckets ?? ''),
    ...(await fullSources(context, number, options)),
    ...(await contentsLeft(context, number, own.serves, options)),
  ]
  if (obstacles.length > 0) throw stillNeeded(context, number, obstacles)
}

function stillNeeded(context: EngineContext, number: number, obstacles: readonly string[]): LooseleafError {
  const { name } = shardAt(context, number)
  return new LooseleafError(
    'CONFLICT',
    `Shard ${number}, ${name}, cannot be removed yet, and nothing was changed: ${obstacles.join('; ')}.`,
    // The same call fails until somebody has ended each of them.
    { shard: name, retryable: false },
  )
}

/** Adds the codec entries of a shard to the others. These have them already, unless they have lost some. */
async function copyCodecEntries(context: EngineContext, shard: Shard, options: CallOptions): Promise<void> {
  const { driver, catalog } = context
  if (!catalog.current().hasDefinitions) return
  const entries = await shard.codecEntries.all(options)
  const others = presentShards(driver).filter((each) => each !== shard)
  await Promise.all(
    others.map(async (each) => {
      await each.codecEntries.add(entries, options)
      await each.flush(options)
    }),
  )
}

/** Changes the layout on all shards. The obstacles that the layout shows are looked for again, in the same change. */
async function announce(context: EngineContext, number: number, options: CallOptions): Promise<void> {
  const { driver, catalog } = context
  const { serves } = await loadOwn(context, number, options)
  const changed = await changeCatalogContents(
    driver,
    (contents) => {
      // `requireUnneeded` has found a layout.
      const layout = contents.layout as StoreLayout
      if (isRemoved(layout, number)) return undefined
      const obstacles = layoutObstacles(layout, contents.indexes, number)
      if (obstacles.length > 0) throw stillNeeded(context, number, obstacles)
      const shards = layout.shards.map((each, at) =>
        at === number
          ? { name: each.name, buckets: '', state: 'removed' as const, away: serves.away ?? [] }
          : each,
      )
      const { moves = [], revision } = layout
      // A process has to know moves to know removed shards.
      return { ...contents, layout: { ...layout, revision: revision + 1, shards, moves } }
    },
    { ...options, holds: ({ layout }) => isRemoved(layout, number) },
  )
  catalog.adopt(changed)
}

/** Copies the catalog to the removed shard, for people and programs that find its database later. No process of the store needs the copy. */
async function tell({ driver }: EngineContext, shard: Shard, options: CallOptions): Promise<void> {
  try {
    await copyCatalog(anyCatalog(await loadShardCatalogs(driver, options)), shard, options)
  } catch (error) {
    if (!isOutage(error)) throw error
  }
}
