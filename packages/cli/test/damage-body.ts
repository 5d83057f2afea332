import { parseId, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'

/** A line of `looseleaf damaged --json`. */
export interface DamagedLine {
  readonly id: EntityId
  readonly version: number
  readonly shard: string
  readonly code: string
  readonly message: string
  readonly file?: string
  readonly repaired?: boolean
  readonly deleted?: boolean
}

/** Replaces the body of an entity by other bytes, past the store. */
export async function damageBody(
  store: DataStore,
  id: EntityId,
  change: (body: Buffer) => Uint8Array,
): Promise<void> {
  const bytes = parseId(id)
  const number = store.context.router.shardOfId(bytes)
  const { entities } = store.context.driver.shards[number]!
  const [row] = await entities.read([bytes])
  const body = change(Buffer.from(row!.body!))
  const epoch = store.context.catalog.current().epochs[number]!
  await entities.replace([{ id: bytes, base: row!.version, version: row!.version + 1, body }], { epoch })
}
