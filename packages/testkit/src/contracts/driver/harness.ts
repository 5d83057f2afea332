import { randomBytes, randomUUID } from 'node:crypto'
import type { Driver, Shard } from '@looseleaf/core'
import type {
  ColumnType,
  EntityInsert,
  IndexRow,
  IndexTable,
  IndexTableSpec,
  ShardCatalog,
  UpdatedPlace,
} from '@looseleaf/core/internal'
import type { TestFunctions } from '../test-functions.ts'

/** A driver on fresh, empty databases: at least one shard, without tables. */
export interface DriverHarness {
  readonly driver: Driver
  /** Connects to the same databases again, like another process. Required unless the option `singleConnectionReason` is given. */
  readonly connectAgain?: (() => Promise<Driver>) | undefined
  /** Deletes the databases. The contract has closed the drivers before. */
  readonly cleanUp: () => Promise<void>
}

export type MakeDriverHarness = () => Promise<DriverHarness>

export interface DriverContractOptions {
  /** Reason why a second connection is impossible. The tests that need one are skipped with this reason. */
  readonly singleConnectionReason?: string | undefined
}

/** Arguments of the contract, for each of its parts. */
export interface ContractParts {
  readonly runner: TestFunctions
  readonly make: MakeDriverHarness
  readonly options: DriverContractOptions
}

/** The fixture of one part: a shard with tables and a catalog of epoch 1. */
export interface Bench {
  readonly shard: Shard
  /** The same shard through a second driver, like another process; the same object without a second one. */
  readonly other: Shard
}

/** Creates a bench before the tests of a part, and removes it after them. */
export function withBench({ runner, make }: ContractParts): Bench {
  const { beforeAll, afterAll } = runner
  let harness: DriverHarness
  let again: Driver | undefined
  let bench: Bench

  beforeAll(async () => {
    harness = await make()
    const shard = firstShard(harness.driver)
    await shard.createTables()
    await shard.catalog.init(catalogOf(1))
    again = await harness.connectAgain?.()
    bench = { shard, other: again === undefined ? shard : firstShard(again) }
  })

  afterAll(async () => {
    await again?.close()
    await harness.driver.close()
    await harness.cleanUp()
  })

  return {
    get shard() {
      return bench.shard
    },
    get other() {
      return bench.other
    },
  }
}

/** Defines a test that needs a second connection. */
export function testTogether(
  { runner, options }: ContractParts,
  name: string,
  run: () => Promise<void>,
): void {
  const { singleConnectionReason } = options
  if (singleConnectionReason === undefined) runner.test(name, run)
  else runner.test.skip(`${name} (left out: ${singleConnectionReason})`, run)
}

export function firstShard(driver: Driver): Shard {
  const shard = driver.shards[0]
  if (shard === undefined) throw new Error('A driver has to have a shard.')
  return shard
}

export function catalogOf(epoch: number): ShardCatalog {
  return {
    epoch,
    storeId: "ünï “quoted” \\ ' 🍃",
    shardNumber: 0,
    shardCount: 1,
    router: 'buckets:1',
    indexes: [
      {
        name: 'by_user',
        properties: [{ name: 'user_id', type: 'uuid', many: false }],
        shardOn: 'user_id',
        onMisfit: 'refuse',
        generation: 1,
        table: 'index_by_user_1',
        state: 'building',
      },
    ],
  }
}

export const newId = (): Buffer => randomBytes(16)

/** Returns a name that no other test uses. */
export const newName = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '')}`

export function newEntity(version = 1, body: Uint8Array | null = randomBytes(40)): EntityInsert {
  return { id: newId(), version, body }
}

/** Creates an index table with columns of these types. A type with a minus is a descending column. */
export async function freshIndex(
  shard: Shard,
  ...types: readonly (ColumnType | `-${ColumnType}`)[]
): Promise<IndexTable> {
  return freshTable(shard, {
    table: newName('ix'),
    columns: types.map((type, i) => ({
      name: `c${i}`,
      type: type.replace('-', '') as ColumnType,
      ...(type.startsWith('-') && { order: 'desc' as const }),
    })),
  })
}

export async function freshTable(shard: Shard, spec: IndexTableSpec): Promise<IndexTable> {
  await shard.createIndexTable(spec)
  const index = shard.index(spec)
  specOf.set(index, spec)
  return index
}

const specOf = new WeakMap<IndexTable, IndexTableSpec>()

/** The place before every row. */
export const FIRST: UpdatedPlace = { updated: 0, addedId: 0 }

/** Reads every row of these entities in a table of `freshTable`. */
export async function rowsOf(
  shard: Shard,
  index: IndexTable,
  ids: readonly Uint8Array[],
): Promise<readonly IndexRow[]> {
  const [rows = []] = await shard.rowsOf([specOf.get(index) as IndexTableSpec], ids)
  return rows
}

/** Converts bytes to hexadecimal text, so that a Buffer and a Uint8Array compare as equal. */
export function hex(bytes: Uint8Array | null | undefined): string | undefined {
  return bytes === null || bytes === undefined ? undefined : Buffer.from(bytes).toString('hex')
}

/** Resolves with the code of the error that a promise rejects with, or `no error`. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return error instanceof Error && 'code' in error
      ? String(error.code)
      : `not a LooseleafError: ${String(error)}`
  }
  return 'no error'
}

/** Converts the bytes of a row to text, so that rows with Buffers and Uint8Arrays compare as equal. */
export function hexed<Row extends { readonly id: Uint8Array; readonly body?: Uint8Array | null | undefined }>(
  row: Row | undefined,
): object | undefined {
  return row && { ...row, id: hex(row.id), body: row.body === undefined ? 'left out' : hex(row.body) }
}
