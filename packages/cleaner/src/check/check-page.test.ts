import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { parseId } from '@looseleaf/core'
import type { EntityRow } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { addRow, entryOf, expectedRows, openStore, removeRow, rowFor, rowsIn } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { checkIndex } from './check-index.ts'
import { checkEntityPage } from './check-page.ts'

let reference: ReferenceDriver
let plan: FaultPlan
let store: DataStore
let pass: RepairPass
let byTag: IndexTarget
let byUser: IndexTarget

beforeEach(async () => {
  reference = createReferenceDriver({ shards: 2 })
  plan = () => undefined
  store = await openStore({ driver: faultyDriver(reference, (call) => plan(call)), time: leapingTime() })
  pass = createRepairPass(store.context)
  byTag = indexTarget(store.context, entryOf(store, 'by_tag'))
  byUser = indexTarget(store.context, entryOf(store, 'by_user'))
})

/** Reads all entities of a shard. */
const entitiesOf = (shard: number): Promise<EntityRow[]> =>
  reference.shards[shard]!.entities.pageByAdded(0, 1_000, { maxBody: Number.MAX_SAFE_INTEGER }).then((rows) =>
    rows.map(({ id, version, updated, body }) => ({ id, version, updated, body: body ?? null })),
  )

const allEntities = async (): Promise<EntityRow[]> => (await Promise.all([0, 1].map(entitiesOf))).flat()

/** Raises the version of every entity before each read. */
function keepMoving(): void {
  plan = ({ operation, shard }) =>
    operation === 'readBounded'
      ? {
          async before() {
            const { entities, catalog } = reference.shards[shard]!
            const { epoch } = (await catalog.load())!
            const rows = (await entitiesOf(shard)).map(({ id, version: base, body }) => ({
              id,
              base,
              version: base + 1,
              body,
            }))
            await entities.replace(rows, { epoch })
          },
        }
      : undefined
}

describe('a page of a check', () => {
  it('a page of a check adds missing rows, and counts them by index', async () => {
    const bag = { user_id: 'ada', published: 1, tags: ['x', 'y'] }
    const { id } = await store.put(bag)
    for (const name of ['by_user', 'by_tag']) await removeRow(store, name, rowFor(store, name, id, bag, 0))
    const counts = await checkEntityPage(pass, [byUser, byTag], await allEntities(), 0)
    expect([counts.get(byUser), counts.get(byTag)]).toMatchObject([{ missing: 1 }, { missing: 1 }])
    expect(pass.tally.added).toBe(2)
    for (const name of ['by_user', 'by_tag'])
      expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
  })

  it('a page of a check sums missing rows over several batches of entities', async () => {
    const tags = Array.from({ length: 1_000 }, (_, i) => `tag ${i}`)
    const ids = (await store.putMany(Array.from({ length: 12 }, () => ({ tags })))).map(({ id }) => id)
    const entities = (await allEntities()).toSorted(
      (a, b) =>
        ids.findIndex((id) => Buffer.compare(parseId(id), a.id) === 0) -
        ids.findIndex((id) => Buffer.compare(parseId(id), b.id) === 0),
    )
    for (const id of [ids[0]!, ids[11]!])
      await removeRow(store, 'by_tag', rowFor(store, 'by_tag', id, { tags }, 0))
    const counts = await checkEntityPage(pass, [byTag], entities, 0)
    expect(counts.get(byTag)).toEqual({ missing: 2, duplicates: 0 })
  })

  it('a page of a check does not count tombstones', async () => {
    const { id } = await store.put({ user_id: 'ada', published: 1 })
    await store.put({ user_id: 'bob', published: 1 })
    await store.delete(id)
    await checkEntityPage(pass, [byUser], await allEntities(), 0)
    expect(pass.tally.entities).toBe(1)
  })

  it('a page of a check counts a missing row of an entity that is written at every look', async () => {
    const bag = { user_id: 'ada', published: 1 }
    const { id } = await store.put(bag)
    await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
    const entities = await allEntities()
    keepMoving()
    expect((await checkEntityPage(pass, [byUser], entities, 0)).get(byUser)).toMatchObject({ missing: 1 })
  })
})

it('a check counts the unsettled entities of all shards', async () => {
  const ids = new Map<number, string>()
  while (ids.size < 2) {
    const id = store.newId()
    ids.set(store.context.router.shardOfId(parseId(id)), id)
  }
  for (const id of ids.values()) {
    const bag = { user_id: 'ada', published: 1 }
    await store.put(bag, { id })
    await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  }
  keepMoving()
  expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 0, unsettled: 2 })
})

it('a check sums the unsettled rows and claims of a unique index', async () => {
  const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
  reference = createReferenceDriver({ shards: 1 })
  const driver = faultyDriver(reference, (call) => plan(call))
  store = await openStore({ driver, indexes: [byMail], time: leapingTime() })
  const { id } = await store.put({ mail: 'ada' })
  for (const entry of store.context.catalog.current().indexes) {
    const row = { key: [Buffer.from('ada')], entityId: parseId(id), before: Number.MAX_SAFE_INTEGER }
    expect(await reference.shards[0]!.index(tableSpec(entry)).remove([row])).toBe(1)
  }
  keepMoving()
  expect(await checkIndex(store, 'by_mail')).toMatchObject({ missing: 0, unclaimed: 0, unsettled: 2 })
})

it('a check counts a dangling row of an entity that is written at every look, if its stamp is not later than the first look', async () => {
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  // The entity is at the next version when the row is read.
  for (const [user_id, stamp] of [
    ['bob', version - 1],
    ['eve', version + 1],
  ] as const)
    await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id, published: 1 }, stamp))
  keepMoving()
  expect(await checkIndex(store, 'by_user')).toMatchObject({ dangling: 2, unsettled: 0 })
})
