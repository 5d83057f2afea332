import { parseId, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn, loadOwn } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { GROUPS, isBegin, moveWith, sealedBy } from './two-groups.ts'
import { contentsOf, filledStore, openStore, rowsAt, SOME_BUCKETS } from './stores.ts'

test('a move hands nothing over while the target has an entity that the source lacks, and deletes it with the next copies', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 40)
  const before = await contentsOf(store)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id: EntityId
  do id = store.newId()
  while (!isIn(parseId(id)))
  const stopped = new AbortController()
  const onProgress = ({ step }: { readonly step: string }): void => {
    if (step === 'checking') stopped.abort()
  }
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  await expect(moveBuckets(store, plan, { signal: stopped.signal, onProgress })).rejects.toMatchObject({
    code: 'ABORTED',
  })
  // Another program writes to the target.
  const { entities } = driver.shards[1]!
  const { epoch, floor } = await entities.floor()
  await entities.receive([{ id: parseId(id), version: 1, body: null }], { epoch, updated: floor })
  await expect(resumeMoves(store)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(
      /0 copies differ from their entities, and 1 have no entity\..*Nothing was handed over\..* or undo/,
    ),
  })
  expect(await movesOf(store)).toMatchObject([{ state: 'copying', handedOver: 0 }])
  expect(await resumeMoves(store)).toMatchObject([{ state: 'done' }])
  expect(await entities.readVersions([parseId(id)])).toEqual([undefined])
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await rowsAt(fresh, 0, SOME_BUCKETS)).toBe(0)
})

test('the error of copies that differ tells how many buckets were handed over before, and offers no undo then', async () => {
  let step: 'first group' | 'last copy' | 'look' | 'over' = 'first group'
  const { move, writer, ids, openFaulty } = await moveWith((call, moving) => {
    const [id] = moving.ids[1]
    if (step === 'first group' && isBegin(call)) step = 'last copy'
    if (step === 'last copy' && sealedBy(call) === GROUPS[1]) {
      step = 'look'
      return { before: async () => void (await moving.writer.put({ n: 2, user: id }, { id })) }
    }
    if (step !== 'look' || call.shard !== 1 || call.operation !== 'checksums') return undefined
    step = 'over'
    return {
      async before() {
        // Another program writes to the target.
        const { entities } = moving.shards.reference.shards[1]!
        const { epoch, floor } = await entities.floor()
        await entities.receive([{ id: parseId(id), version: 1, body: null }], { epoch, updated: floor })
      },
    }
  })
  const expected =
    /1 copies differ .* The target serves 512 of the 1,024 buckets\. Call shards\.repair to copy the others again\.$/
  await expect(move()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(expected) })
  const { problems, moves } = await (await openFaulty()).shards.repair()
  expect({ problems, moves }).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
  expect(await writer.get(ids[1][0])).toMatchObject({ n: 2 })
})

test('a target that begins names the last entity that it had before its copies', async () => {
  const memory = await memoryShards(2).connect()
  const store = await openStore(memory, leapingTime())
  await store.putMany(Array.from({ length: 40 }, (_, n) => ({ n })))
  const { entities } = memory.shards[1]!
  const page = await entities.pageByAdded(0, 100, { maxBody: 0 })
  expect(await moveBuckets(store, { from: 0, to: 1, buckets: '0-1023' })).toMatchObject({ state: 'done' })
  const { arrived } = (await loadOwn(store.context, 1, {})).serves
  expect(arrived?.map(({ afterAddedId }) => afterAddedId)).toEqual(arrived?.map(() => page.at(-1)!.addedId))
  expect(page.length).toBeGreaterThan(1)
})
