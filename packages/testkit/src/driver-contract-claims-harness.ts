import type {
  ClaimTable,
  ColumnType,
  IndexRow,
  IndexTable,
  IndexTableSpec,
  Key,
  Shard,
} from '@looseleaf/core'
import { comparable } from './driver-contract-index.ts'
import { hex, newName } from './driver-contract-harness.ts'

/** A fresh table of claims, created. */
export interface FreshClaims {
  readonly spec: IndexTableSpec
  readonly claims: ClaimTable
  /** The same table as a process of its own has it. */
  readonly elsewhere: ClaimTable
  readonly index: IndexTable
  /** Every claim, in key order. */
  all(): Promise<readonly unknown[]>
}

const NOBODY = 'nobody'

/** A claim as it can be compared, whatever its bytes are kept in. */
export function told(claim: IndexRow | undefined): unknown {
  if (claim === undefined) return NOBODY
  return [...claim.key.map(comparable), hex(claim.entityId), claim.version]
}

export function uniqueSpec(...types: readonly ColumnType[]): IndexTableSpec {
  return { table: newName('ix'), columns: types.map((type, i) => ({ name: `c${i}`, type })), unique: true }
}

export async function freshClaims(
  shard: Shard,
  other: Shard,
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
      return rows.map(told)
    },
  }
}

export const row = (key: Key, entityId: Uint8Array, version: number): IndexRow => ({ key, entityId, version })

/** Makes a table of claims whose key has columns of these types. */
export type Fresh = (...types: readonly ColumnType[]) => Promise<FreshClaims>
