import { LooseleafError, type Driver, type Router, type Shard } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { bucketsOf, latestLayout, type ShardAnswers } from '@looseleaf/index-engine/internal'

/** The given shards in the order of the layout, and their answers by shard number. */
export interface ArrangedShards extends ShardAnswers {
  readonly driver: Driver
}

/** A given database, with its catalog or the error of its outage. */
interface Given {
  readonly shard: Shard
  readonly catalog: ShardCatalog | undefined
  readonly isSilent: boolean
}

/**
 * Brings the given shards into the order of the layout: each has its number in its own catalog. A shard without a known catalog, which is
 * empty or does not answer, gets a number that is left: that of its name in the layout, or else the first one in the order of the list.
 * The shards of a new store keep the order of the list. Throws `LAYOUT_MISMATCH` unless these are all shards of one store, each once,
 * and the router fits them.
 */
export function arrangeShards(
  driver: Driver,
  router: Router,
  { catalogs, silent }: ShardAnswers,
): ArrangedShards {
  const given = driver.shards.map((shard, i): Given => ({
    shard,
    catalog: catalogs[i],
    isSilent: silent.has(i),
  }))
  const store = storeOf(given)
  if (store === undefined) return { driver, catalogs, silent }
  for (const { shard, catalog } of given) if (catalog !== undefined) checkShard(shard, catalog, router, store)
  const layout = latestLayout(catalogs)
  const names =
    layout?.shards.map(({ name }) => name) ?? Array.from({ length: store.shardCount }, () => undefined)
  const arranged: (Given | undefined)[] = names.map(() => undefined)
  for (const each of given) {
    if (each.catalog === undefined) continue
    const { shardNumber } = each.catalog
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
        `it is shard ${shardNumber} of its store, whose layout has ${countText(names.length)} only.`,
      )
    }
    arranged[shardNumber] = each
  }
  const others = given.filter(({ catalog }) => catalog === undefined)
  if (given.length > names.length) refuseExtra(given, others, names.length)
  for (const [number, name] of names.entries()) {
    const at = name === undefined ? -1 : others.findIndex(({ shard }) => shard.name === name)
    if (arranged[number] === undefined && at !== -1) arranged[number] = others.splice(at, 1)[0]
  }
  for (const number of names.keys()) arranged[number] ??= others.shift()
  refuseMissing(given, arranged, names)
  const complete = arranged as Given[]
  return {
    driver: { shards: complete.map(({ shard }) => shard), close: () => driver.close() },
    catalogs: complete.map(({ catalog }) => catalog),
    silent: new Map(
      complete.flatMap(({ shard, isSilent }, number) =>
        isSilent ? [[number, silent.get(driver.shards.indexOf(shard))!] as const] : [],
      ),
    ),
  }
}

/** Returns a catalog of the store to which most of the given shards belong; undefined without any catalog. */
function storeOf(given: readonly Given[]): ShardCatalog | undefined {
  const known = given.flatMap(({ catalog }) => catalog ?? [])
  const byStore = [...Map.groupBy(known, ({ storeId }) => storeId).values()]
  return byStore.toSorted((a, b) => b.length - a.length)[0]?.[0]
}

/** Throws `LAYOUT_MISMATCH` unless this is a shard of the store to which `other` belongs, and the router fits it. */
export function checkShard(shard: Shard, catalog: ShardCatalog, router: Router, other: ShardCatalog): void {
  if (catalog.storeId !== other.storeId) {
    refuse(
      shard,
      `it belongs to another store (${catalog.storeId}) than the other shards (${other.storeId}). Give the addresses of one store, or an empty database for a new one.`,
    )
  }
  const { layout } = catalog
  const isBucketed = layout?.scheme !== undefined
  if (isBucketed ? bucketsOf(router)?.scheme !== layout.scheme : catalog.router !== router.fingerprint) {
    const scheme = isBucketed ? `, with buckets of the scheme ${layout.scheme}` : ''
    refuse(
      shard,
      `its store was made with the router ${catalog.router}${scheme}, but the router given is ${router.fingerprint}. Give the router that the store was made with: another one would look for entities on the wrong shards.`,
    )
  }
  if (countOf(catalog) !== countOf(other)) {
    refuse(
      shard,
      `it belongs to a store of ${countText(countOf(catalog))}, but by the other shards the store has ${countOf(other)}.`,
    )
  }
}

function refuseExtra(given: readonly Given[], others: readonly Given[], count: number): never {
  const extra = others.find(({ isSilent }) => !isSilent) ?? others[0]
  // Each shard of the store is given at most once, so a database that is none of them is left.
  const { shard, isSilent } = extra ?? given.at(-1)!
  const why = isSilent ? 'it does not answer' : 'it is empty'
  refuse(
    shard,
    `the store has ${countText(count)}, but the list has ${given.length}, and ${why}. Give exactly the shards of the store. For more shards, make a new store and copy the entities with \`looseleaf export\` and \`looseleaf import\`.`,
  )
}

function refuseMissing(
  given: readonly Given[],
  arranged: readonly (Given | undefined)[],
  names: readonly (string | undefined)[],
): void {
  const missing = names.flatMap((name, number) =>
    arranged[number] === undefined
      ? [name === undefined ? `${number}` : `${number} (${name} when it joined)`]
      : [],
  )
  if (missing.length === 0) return
  const silentText = given.some(({ isSilent }) => isSilent)
    ? ' Databases that do not answer were taken for shards of the list.'
    : ''
  refuse(
    given.find(({ catalog }) => catalog !== undefined)!.shard,
    `its store has ${countText(names.length)}, but the list has ${given.length}. Missing: ${missing.length === 1 ? 'shard' : 'shards'} ${missing.join(', ')}.${silentText} Give all of its shards, in any order: a store keeps the number of shards that it was made with.`,
  )
}

const countOf = ({ layout, shardCount }: ShardCatalog): number => layout?.shards.length ?? shardCount

const countText = (count: number): string => `${count} ${count === 1 ? 'shard' : 'shards'}`

export function refuse(shard: Shard, problem: string): never {
  throw new LooseleafError('LAYOUT_MISMATCH', `Shard ${shard.name}: ${problem}`, { shard: shard.name })
}
