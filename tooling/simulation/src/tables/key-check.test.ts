import { msgpackZlibCodec } from '@looseleaf/codec'
import { parseId, type EntityId } from '@looseleaf/core'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { createReferenceDriver, type ReferenceShard } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { bySeat } from '../shapes/indexes.ts'
import { createOwners } from '../world/owners.ts'
import { smallRouter } from '../world/small-router.ts'
import { createCommittedRows, type CommittedRows } from './committed-rows.ts'
import { createKeyCheck, type KeyCheck } from './key-check.ts'

const EARLY = '00000000-0000-7000-8000-000000000001' as EntityId
const LATE = '00000000-0000-7000-8000-000000000002' as EntityId

describe('a store of one shard', () => {
  let shard: ReferenceShard
  let committed: CommittedRows
  let keys: KeyCheck
  let open: () => Promise<DataStore>
  let store: DataStore

  beforeEach(async () => {
    const databases = createReferenceDriver({ shards: 1 })
    shard = databases.shards[0]!
    const router = smallRouter(1)
    const codec = msgpackZlibCodec()
    const owners = createOwners(databases, router, 1)
    committed = createCommittedRows(owners, codec)
    keys = createKeyCheck(owners, committed)
    open = () =>
      DataStore.open({
        shards: { shardCount: 1, connect: async () => databases },
        router,
        codec,
        indexes: [],
        migrate: true,
      })
    store = await open()
  })

  /** Deletes the claims of an entity. */
  async function deleteClaims(id: EntityId): Promise<void> {
    const entry = committed.entries().find(({ unique }) => unique)!
    const claims = shard.index(tableSpec(entry))
    const own = claims.rows.filter(({ entityId }) => Buffer.compare(entityId, parseId(id)) === 0)
    expect(own).toHaveLength(1)
    await claims.remove(own.map((claim) => ({ ...claim, before: claim.version + 1 })))
  }

  it('an entity from before a unique index need not hold its claim', async () => {
    await store.put({ seat: 3 }, { id: EARLY })
    keys.look()
    await store.addIndex(bySeat)
    expect(keys.look()).toMatchObject({ unheld: [], twiceInBuilding: [] })
  })

  it('an entity that is committed after the unique index was added has to hold its claim', async () => {
    await store.put({ seat: 3 }, { id: EARLY })
    await store.addIndex(bySeat)
    keys.look()
    await store.put({ seat: 4 }, { id: LATE })
    expect(keys.look().unheld).toEqual([])
    await deleteClaims(LATE)
    expect(keys.look().unheld).toEqual([expect.stringContaining(`no claim of ${LATE}`)])
  })

  it('an entity from before a unique index that a crash has undone need not hold its claim once the index is added again', async () => {
    const before = shard.state()
    await store.addIndex(bySeat)
    keys.look()
    shard.fallBack(before, 'everything')
    keys.fellBack()
    store = await open()
    await store.put({ seat: 3 }, { id: EARLY })
    keys.look()
    await store.addIndex(bySeat)
    expect(keys.look()).toMatchObject({ unheld: [], isBuilding: false })
  })
})
