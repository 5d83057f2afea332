import type { Shard } from '@looseleaf/core'
import type {
  CatalogTable,
  ChangesRange,
  ClaimTable,
  CopiedRow,
  EntityChecksum,
  EntityInsert,
  EntitySwap,
  EntityTable,
  IndexRow,
  IndexTable,
  IndexTableSpec,
  PendingTable,
} from '@looseleaf/core/internal'
import { idKey } from '@looseleaf/core/internal'
import { keyIdentity } from '@looseleaf/index-engine/internal'
import type { ReferenceIndex, ReferenceShard, ShardState } from '@looseleaf-tooling/kit/reference-driver'
import { byName, bySeat } from '../shapes/indexes.ts'
import { removeLocalRows } from './flawed-local-rows.ts'
import type { Flaw } from './flaws.ts'

/** Returns a shard with the flaw, on top of a correct one. */
export function withFlaw(shard: ReferenceShard, flaw: Flaw | undefined): Shard {
  return {
    ...shard,
    entities: flawedEntities(shard, flaw),
    catalog: flawedCatalog(shard, flaw),
    pending: flawedPending(shard, flaw),
    index: (spec) => flawedIndex(shard.index(spec), spec, flaw),
    claims: (spec) => flawedClaims(shard.index(spec), flaw),
  }
}

/** Returns the parts of a shard that fail over. */
export function failingOver(
  shard: ReferenceShard,
  flaw: Flaw | undefined,
): Pick<ReferenceShard, 'state' | 'fallBack'> {
  return {
    ...shard,
    fallBack(state, what) {
      const { rows } = shard.pending
      const own = new Set([...shard.entities.rows, ...state.entities].map(({ id }) => idKey(id)))
      shard.fallBack(state, what)
      if (flaw === 'pending rows stay behind') shard.pending.restore(rows)
      if (what === 'entities') bringRowsBack(shard, state, own)
    },
  }
}

/** Brings index rows back that were deleted in transactions of their entities, which the failover has lost. */
function bringRowsBack(shard: ReferenceShard, { indexes }: ShardState, own: ReadonlySet<string>): void {
  for (const [table, rows = []] of indexes) {
    const index = shard.index({ table, columns: [] })
    // Claims are not deleted there while failovers may lose commits.
    const areClaims = [byName, bySeat].some(({ name }) => table.startsWith(`index_${name}`))
    if (index.state() === undefined || areClaims) continue
    const isGone = ({ key, entityId }: IndexRow): boolean =>
      own.has(idKey(entityId)) && index.versionOf(key, entityId) === undefined
    for (const row of rows.filter(isGone)) index.upsert([row]).catch(() => undefined)
  }
}

function flawedEntities(shard: ReferenceShard, flaw: Flaw | undefined): EntityTable {
  const { entities } = shard
  const epochOf = (epoch: number): number =>
    flaw === 'epoch is ignored' ? (shard.contents()?.epoch ?? epoch) : epoch
  /** A fence leaves the body as it is, or writes a tombstone if there is no entity. */
  const isFence = (row: { readonly id: Uint8Array; readonly body: Uint8Array | null }): boolean => {
    const body = entities.current(row.id)?.body ?? null
    return body === null || row.body === null ? body === row.body : Buffer.compare(body, row.body) === 0
  }
  const unguarded = (row: EntityInsert): EntitySwap => ({
    ...row,
    baseBody: undefined,
    base: entities.current(row.id)?.version ?? 0,
  })
  const inserted = new Set<string>()
  const nameOf = ({ id, version }: EntityInsert): string => `${Buffer.from(id).toString('hex')} ${version}`
  const wasInserted = (row: EntityInsert): boolean => inserted.has(nameOf(row))
  return {
    ...entities,
    ...flawedCopies(shard, flaw),
    async writeAll(rows, options) {
      const outcome = await entities.writeAll(rows, options)
      if (outcome === 'written' || flaw !== 'batches leave out items that are lost') return outcome
      const others = rows.filter((_, place) => !outcome.lost.includes(place))
      if (others.length > 0) await entities.writeAll(others, options)
      return 'written'
    },
    async insert(rows, options) {
      if (flaw === 'fences do nothing' && rows.every(isFence)) return
      if (flaw === 'inserts may be repeated' && rows.every(wasInserted)) {
        await entities.replace(rows.map(unguarded), options)
        return
      }
      await entities.insert(rows, { ...options, epoch: epochOf(options.epoch) })
      for (const row of rows) inserted.add(nameOf(row))
    },
    async replace(rows, options) {
      if (flaw === 'fences do nothing' && rows.every(isFence)) return rows.map(() => true)
      const won = await entities.replace(flaw === 'replace is unguarded' ? rows.map(unguarded) : rows, {
        ...options,
        epoch: epochOf(options.epoch),
      })
      if (flaw === 'losers delete local rows') await removeLocalRows(shard, rows)
      return won
    },
  }
}

/** Returns the calls of moves. */
function flawedCopies(
  { entities, contents }: ReferenceShard,
  flaw: Flaw | undefined,
): Pick<EntityTable, 'receive' | 'discard' | 'pageOfChanges' | 'pageOfChecksums' | 'checksums'> {
  const present = (epoch: number): number => contents()?.epoch ?? epoch
  const isBlind = flaw === 'checksums are always equal'
  const blind = <Row extends EntityChecksum | undefined>(row: Row): Row =>
    row === undefined || !isBlind ? row : { ...row, checksum: 0, bodyBytes: 0 }
  const cut = (range: ChangesRange): ChangesRange =>
    flaw === 'last copies have an end' && range.until === undefined
      ? { ...range, until: entities.floorNow }
      : range
  let last: { readonly epoch: number; readonly ids: readonly Uint8Array[] } | undefined
  /** Loses the last copy, unless the target has begun with buckets since. */
  async function loseLast(epoch: number): Promise<void> {
    if (last?.epoch === epoch) await entities.discard(last.ids, { epoch })
    last = undefined
  }
  return {
    async receive(rows, options) {
      if (flaw === 'copies do not need the one before') {
        await loseLast(options.epoch)
        await entities.receive(rows, { ...options, after: undefined })
        last = { epoch: options.epoch, ids: rows.map(({ id }) => id) }
        return
      }
      const isKept = (row: CopiedRow): boolean =>
        flaw === 'copies keep the row that is there' && entities.current(row.id) !== undefined
      const copies = rows.filter((row) => !isKept(row)).map((row) => (isBlind ? { ...row, body: null } : row))
      const epoch = flaw === 'copies ignore the epoch' ? present(options.epoch) : options.epoch
      await entities.receive(copies, { ...options, epoch })
    },
    discard: (ids, options) =>
      entities.discard(
        ids,
        flaw === 'discards ignore the epoch' ? { ...options, epoch: present(options.epoch) } : options,
      ),
    pageOfChanges: (range, limit, options) => entities.pageOfChanges(cut(range), limit, options),
    pageOfChecksums: async (range, limit, options) =>
      (await entities.pageOfChecksums(cut(range), limit, options)).map(blind),
    checksums: async (ids, options) => (await entities.checksums(ids, options)).map(blind),
  }
}

function flawedCatalog({ catalog, contents }: ReferenceShard, flaw: Flaw | undefined): CatalogTable {
  if (flaw !== 'catalogs change whatever they are') return catalog
  return {
    ...catalog,
    change: (next, from, options) => catalog.change(next, contents()?.epoch ?? from, options),
  }
}

function flawedPending({ pending }: ReferenceShard, flaw: Flaw | undefined): PendingTable {
  return flaw === 'pending rows are not copied' ? { ...pending, add: async () => {} } : pending
}

/** Answer of a flawed upsert that changed nothing, which then does not wait for the disk. */
export const UNCHANGED = Symbol('unchanged')

/** Answers of flawed takes that changed nothing. */
export const unchangedTakes: WeakSet<object> = new WeakSet()

function flawedClaims(table: ReferenceIndex, flaw: Flaw | undefined): ClaimTable {
  const { claims } = table
  const claimOf = ({ key }: Pick<IndexRow, 'key'>): IndexRow | undefined =>
    table.rows.find((claim) => keyIdentity(claim.key) === keyIdentity(key))
  const isHeld = (row: IndexRow): boolean => {
    const claim = claimOf(row)
    return claim !== undefined && isOf(claim, row) && claim.version >= row.version
  }
  const mayPutInPlace = (claim: IndexRow, row: IndexRow): boolean =>
    isOf(claim, row)
      ? flaw === 'take overwrites the stamp' && claim.version !== row.version
      : flaw === 'take overwrites the holder'
  return {
    async take(rows, options) {
      const isUnchanged = rows.every(isHeld)
      for (const row of rows) {
        const claim = claimOf(row)
        if (claim !== undefined && mayPutInPlace(claim, row)) claims.swap(claim, row).catch(() => undefined)
      }
      const answer = await claims.take(rows, options)
      if (isUnchanged && flaw === 'take that changes nothing without a flush') unchangedTakes.add(answer)
      return answer
    },
    async swap(claim, to, options) {
      const now = claimOf(claim)
      const isTheirs = now !== undefined && isOf(now, claim)
      return claims.swap(isTheirs && flaw === 'swap ignores the stamp' ? now : claim, to, options)
    },
  }
}

function isOf(claim: IndexRow, { entityId }: Pick<IndexRow, 'entityId'>): boolean {
  return Buffer.compare(claim.entityId, entityId) === 0
}

function flawedIndex(table: ReferenceIndex, { unique }: IndexTableSpec, flaw: Flaw | undefined): IndexTable {
  const removesAll =
    flaw === 'remove is unguarded' || (unique === true && flaw === 'claims are released whatever their stamp')
  const isThere = ({ key, entityId, version }: IndexRow): boolean =>
    (table.versionOf(key, entityId) ?? 0) >= version
  return {
    ...table,
    async upsert(rows) {
      if (flaw === 'upsert that changes nothing without a flush' && rows.every(isThere))
        return UNCHANGED as unknown as undefined
      if (flaw === 'upsert overwrites') {
        const all = rows.map((row) => ({ ...row, before: Infinity }))
        table.remove(all).catch(() => undefined)
      }
      return table.upsert(rows)
    },
    remove: (rows, options) =>
      table.remove(
        removesAll ? rows.map((row) => ({ ...row, before: Infinity })) : rows,
        flaw === 'discards ignore the epoch' ? undefined : options,
      ),
  }
}
