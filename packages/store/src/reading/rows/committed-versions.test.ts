import { parseId } from '@looseleaf/core'
import type { ReadEntity } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import {
  committedVersions,
  knowsVersions,
  takeInRowOrder,
  type VersionedPlace,
} from './committed-versions.ts'

const id = parseId('01890a5d-ac96-774b-bcce-b302099a8057')
const row = (n: number, entityVersion?: number | null): VersionedPlace =>
  ({
    key: [BigInt(n)],
    entityId: id,
    version: n,
    ...(entityVersion !== undefined && { entityVersion }),
  }) as never
const entity = (n: number): ReadEntity => ({
  id,
  bag: { n },
  key: undefined,
  version: n,
  updated: undefined,
  bytes: 1,
})

/** Takes the entities of five rows, of which those at these places are known. The others are read in groups of this size. */
async function take(known: readonly number[], groupSize: number, wanted = Infinity) {
  const rows = [0, 1, 2, 3, 4].map((n) => row(n))
  const groups: unknown[][] = []
  const read: number[][] = []
  const isWanted = await takeInRowOrder(
    rows,
    rows.map((_, n) => (known.includes(n) ? entity(n) : undefined)),
    async (others, _, takeGroup) => {
      const places = others.map(({ key }) => Number(key[0]))
      read.push(places)
      await new Promise((resolve) => setImmediate(resolve))
      for (let start = 0; start < places.length; start += groupSize) {
        // The entity of the row 3 is missing.
        const group = places.slice(start, start + groupSize).map((n) => (n === 3 ? undefined : entity(n)))
        if (!takeGroup(group)) return
      }
    },
    undefined,
    (group) => {
      groups.push(group.map((each) => each?.bag['n']))
      return groups.length < wanted
    },
  )
  return { groups, read, isWanted }
}

test('entities are handed over in the order of their rows, as far as they were read', async () => {
  expect(await take([1, 4], 1)).toEqual({
    groups: [[0, 1], [2], [undefined, 4]],
    read: [[0, 2, 3]],
    isWanted: true,
  })
  expect(await take([0, 1], 3)).toEqual({
    groups: [
      [0, 1],
      [2, undefined, 4],
    ],
    read: [[2, 3, 4]],
    isWanted: true,
  })
  expect(await take([0, 1, 2, 3, 4], 1)).toEqual({ groups: [[0, 1, 2, 3, 4]], read: [], isWanted: true })
})

test('no further entity is read or handed over once no more are wanted', async () => {
  expect(await take([0, 1], 1, 1)).toEqual({ groups: [[0, 1]], read: [], isWanted: false })
  expect(await take([1, 4], 1, 2)).toEqual({ groups: [[0, 1], [2]], read: [[0, 2, 3]], isWanted: false })
  expect((await take([0, 1, 2, 3, 4], 1, 1)).isWanted).toBe(false)
})

test('versions that came with their rows are not read again', async () => {
  const rows = [row(1, 5), row(2), row(3, null), row(4)]
  expect([knowsVersions(rows), knowsVersions([row(1, 5), row(3, null)]), knowsVersions([row(2)])]).toEqual([
    false,
    true,
    false,
  ])
  const read: number[] = []
  const readVersions = async (ids: readonly Uint8Array[]) => (read.push(ids.length), [6, undefined])
  expect(await committedVersions(readVersions, rows, undefined)).toEqual([5, 6, undefined, undefined])
  expect(await committedVersions(readVersions, [row(1, 5)], undefined)).toEqual([5])
  expect(read).toEqual([2])
})
