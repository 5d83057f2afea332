import type {
  ClaimTable,
  ColumnType,
  IndexRow,
  IndexTable,
  IndexTableSpec,
  Key,
} from '@looseleaf/core/internal'
import { comparable } from './index-rows.ts'
import { hex, newName, type Bench } from './harness.ts'

export interface FreshClaims {
  readonly spec: IndexTableSpec
  readonly claims: ClaimTable
  /** The same table in another process. */
  readonly elsewhere: ClaimTable
  readonly index: IndexTable
  /** Reads every claim, in key order. */
  all(): Promise<readonly unknown[]>
}

/** Converts a claim to a value that can be compared. */
export function plainClaim(claim: IndexRow | undefined): unknown {
  if (claim === undefined) return 'no claim'
  return [...claim.key.map(comparable), hex(claim.entityId), claim.version]
}

export function uniqueSpec(...types: readonly ColumnType[]): IndexTableSpec {
  return { table: newName('ix'), columns: types.map((type, i) => ({ name: `c${i}`, type })), unique: true }
}

export async function freshClaims(
  { shard, other }: Bench,
  ...types: readonly ColumnType[]
): Promise<FreshClaims> {
  const spec = uniqueSpec(...types)
  await shard.createIndexTable(spec)
  const index = shard.index(spec)
  return {
    spec,
    claims: shard.claims(spec),
    elsewhere: other.claims(spec),
    index,
    async all() {
      const rows = await index.scan({ prefix: [], order: 'asc', limit: 1_000 })
      return rows.map(plainClaim)
    },
  }
}

export const row = (key: Key, entityId: Uint8Array, version: number): IndexRow => ({ key, entityId, version })

/** Creates a table of claims whose key has columns of these types. */
export type Fresh = (...types: readonly ColumnType[]) => Promise<FreshClaims>
