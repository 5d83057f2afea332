import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { expect, it } from 'vitest'
import { withFlaw } from './flawed-driver.ts'

it('a driver without a flaw refuses deletes of another epoch', async () => {
  const [shard] = createReferenceDriver({ shards: 1 }).shards
  const spec = { table: 'ix_n', columns: [{ name: 'n', type: 'integer' }] } as const
  await shard!.createIndexTable(spec)
  const { entities, pending, index } = withFlaw(shard!, undefined)
  const entityId = Buffer.alloc(16)
  const ofAnother = { epoch: 99 }
  const deletes = [
    index(spec).remove([{ key: [1n], entityId, before: 1 }], ofAnother),
    pending.remove([{ entityId, table: spec.table, before: 1 }], ofAnother),
    entities.discard([entityId], ofAnother),
  ]
  for (const { reason } of (await Promise.allSettled(deletes)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: 'STALE_EPOCH' })
})
