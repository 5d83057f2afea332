import type { Router, Shard } from '@looseleaf/core'
import type { ShardCatalog, StoreLayout } from '@looseleaf/core/internal'
import {
  latestLayout,
  settledRemovals,
  type ShardAnswers,
  type StoreDriver,
} from '@looseleaf/index-engine/internal'
import { checkShardCount } from './check-router.ts'
import { checkName, checkShard, countText, refuse, type StoreIdentity } from './check-shard.ts'
import { createStoreDriver, type JoinReports } from './store-driver.ts'

/** The shards of a store by number, and their answers. */
export interface ArrangedShards extends ShardAnswers {
  readonly driver: StoreDriver
  /** True if shards were found by the layout alone, which are not asked yet. */
  readonly hasUnasked: boolean
}

/** A given database, with its catalog or the error of its outage. */
interface Given {
  readonly shard: Shard
  readonly catalog: ShardCatalog | undefined
  readonly isSilent: boolean
}

/**
 * Brings the given shards into the order of the layout: each has its number in its own catalog. A shard without a known catalog, which is
 * empty or does not answer, gets the number of its name in the layout. If the list has all shards, such shards get the free numbers in the
 * order of the list. The shards of a new store keep the order of the list. Shards that the list lacks are connected by their address in
 * the layout. Removed shards are left out, whether they are given or not. Throws `LAYOUT_MISMATCH` unless the given shards are of one store, each once, and the router fits them, and if the driver
 * cannot connect to a missing one.
 */
export function arrangeShards(
  driver: StoreDriver,
  router: Router,
  { catalogs, silent }: ShardAnswers,
  reports?: JoinReports,
): ArrangedShards {
  const all = driver.shards.map((shard, i): Given => ({
    shard,
    catalog: catalogs[i],
    isSilent: silent.has(i),
  }))
  const layout = latestLayout(catalogs)
  const removed = settledRemovals(catalogs)
  const given = all.filter((each, i) => !driver.removed?.has(i) && !isOfRemoved(each, layout, removed))
  const store = storeOf(given)
  if (store === undefined) {
    checkShardCount(router, driver.shards.length)
    return { driver, catalogs, silent, hasUnasked: false }
  }
  const identity: StoreIdentity = { router, catalog: store }
  for (const { shard, catalog } of given) if (catalog !== undefined) checkShard(shard, catalog, identity)
  const names =
    layout?.shards.map(({ name }) => name) ?? Array.from({ length: store.shardCount }, () => undefined)
  if (layout?.scheme === undefined) checkShardCount(router, names.length)
  const arranged: (Given | undefined)[] = names.map(() => undefined)
  for (const each of given) {
    if (each.catalog === undefined) continue
    const { shardNumber } = each.catalog
    checkName(each.shard, each.catalog, layout)
    const other = arranged[shardNumber]
    if (other !== undefined) {
      refuse(
        each.shard,
        `it is shard ${shardNumber} of its store, and so is ${other.shard.name}. Give the database of every shard once: two addresses may lead to the same database, or one is a copy of the other.`,
      )
    }
    if (shardNumber >= names.length) {
      refuse(
        each.shard,
        `it is shard ${shardNumber} of its store, whose layout has ${countText(names.length)} only. Run \`looseleaf shard add\` again to finish its joining, or leave it out of the list.`,
      )
    }
    arranged[shardNumber] = each
  }
  const others = given.filter(({ catalog }) => catalog === undefined)
  if (given.length > names.length) refuseExtra(given, others, names.length)
  const present = Array.from(names.keys()).filter((number) => !removed.includes(number))
  for (const number of present) {
    const name = names[number]
    const at = name === undefined ? -1 : others.findIndex(({ shard }) => shard.name === name)
    if (arranged[number] === undefined && at !== -1) arranged[number] = others.splice(at, 1)[0]
  }
  const mayConnect = layout !== undefined && driver.shardAt !== undefined
  if (given.length >= present.length || !mayConnect)
    for (const number of present) arranged[number] ??= others.shift()
  const stranger = others.find(({ isSilent }) => !isSilent)
  if (stranger !== undefined) {
    refuse(
      stranger.shard,
      `it is empty, and none of the ${countText(present.length)} of the store has this address. Make it a shard of the store with \`looseleaf shard add\`, or leave it out of the list.`,
    )
  }
  if (!mayConnect) refuseMissing(given, arranged, names, present)
  const shards = arranged.map((each) => each?.shard)
  return {
    driver: createStoreDriver({ driver, identity, shards, layout, reports }),
    catalogs: arranged.map((each) => each?.catalog),
    silent: new Map(
      arranged.flatMap((each, number) =>
        each?.isSilent ? [[number, silent.get(driver.shards.indexOf(each.shard))!] as const] : [],
      ),
    ),
    hasUnasked: present.some((number) => arranged[number] === undefined),
  }
}

/**
 * Tells whether a given database is a removed shard of the store. A database without a known catalog, which does not answer or was
 * made anew by its driver, counts by its address.
 */
function isOfRemoved(
  { shard, catalog }: Given,
  layout: StoreLayout | undefined,
  removed: readonly number[],
): boolean {
  if (catalog !== undefined) return removed.includes(catalog.shardNumber)
  const numbers = Array.from(layout?.shards.entries() ?? []).flatMap(([number, { name }]) =>
    name === shard.name ? [number] : [],
  )
  return numbers.length > 0 && numbers.every((number) => removed.includes(number))
}

/** Returns a catalog of the store to which most of the given shards belong; undefined without any catalog. */
function storeOf(given: readonly Given[]): ShardCatalog | undefined {
  const known = given.flatMap(({ catalog }) => catalog ?? [])
  const byStore = [...Map.groupBy(known, ({ storeId }) => storeId).values()]
  return byStore.toSorted((a, b) => b.length - a.length)[0]?.[0]
}

function refuseExtra(given: readonly Given[], others: readonly Given[], count: number): never {
  const extra = others.find(({ isSilent }) => !isSilent) ?? others[0]
  // Each shard of the store is given at most once, so a database that is none of them is left.
  const { shard, isSilent } = extra ?? given.at(-1)!
  const why = isSilent ? 'it does not answer' : 'it is empty'
  refuse(
    shard,
    `the store has ${countText(count)}, but the list has ${given.length}, and ${why}. Give shards of the store only. To make it one of them, run \`looseleaf shard add\`.`,
  )
}

function refuseMissing(
  given: readonly Given[],
  arranged: readonly (Given | undefined)[],
  names: readonly (string | undefined)[],
  present: readonly number[],
): void {
  const missing = present.flatMap((number) =>
    arranged[number] === undefined
      ? [names[number] === undefined ? `${number}` : `${number} (${names[number]} when it joined)`]
      : [],
  )
  if (missing.length === 0) return
  const silentText = given.some(({ isSilent }) => isSilent)
    ? ' Databases that do not answer were taken for shards of the list.'
    : ''
  refuse(
    given.find(({ catalog }) => catalog !== undefined)!.shard,
    `its store has ${countText(present.length)}, but the list has ${given.length}. Missing: ${missing.length === 1 ? 'shard' : 'shards'} ${missing.join(', ')}.${silentText} Give all of its shards, in any order: this driver cannot connect to a shard that it was not given.`,
  )
}
