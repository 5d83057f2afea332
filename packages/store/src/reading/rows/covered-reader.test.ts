import { parseId, type Bag } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { entriesOf, type ReadEntity } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { coveredReader } from './covered-reader.ts'
import type { WholeReader } from './row-reader.ts'

const id = parseId('01890a5d-ac96-774b-bcce-b302099a8057')
const definition = defineIndex('by_n', { properties: { n: 'integer' }, shardOn: 'id', include: ['title'] })
const entry: CatalogEntry = {
  ...entriesOf(definition)[0]!,
  generation: 1,
  table: 'index_by_n',
  state: 'ready',
}
const MIB = 1024 * 1024

const row = (n: number, part: string) => ({
  key: [BigInt(n)],
  entityId: id,
  version: n,
  included: Buffer.from(part),
})
type ReadRow = Partial<ReturnType<typeof row>> & { readonly entityVersion?: number }

/** Decodes a part whose first word says how. */
async function decodeLate(text: string): Promise<Bag> {
  if (text === 'late failing') throw new Error('no dictionary')
  return { part: text }
}
function decode(body: Uint8Array): Bag | Promise<Bag> {
  const text = Buffer.from(body).toString()
  if (text === 'damaged') throw new Error('damaged')
  return text.startsWith('late') ? decodeLate(text) : { part: text }
}

/** Creates a reader of parts that have this many bytes once decoded. Entities that are read whole have the title `whole`. */
function createReader(bytes: number, verify: boolean, versions: readonly number[] = []) {
  const scans: unknown[] = []
  const scan = (kind: string) => async (_: number, given: object) => (scans.push([kind, given]), [])
  const whole: Partial<WholeReader> = {
    async read(some, _, take) {
      const bag = (key: readonly unknown[]): Bag => ({ title: `whole ${String(key[0])}` })
      take(some.map(({ key }) => ({ id, bag: bag(key), key: undefined, version: 1, updated: 5, bytes: 1 })))
    },
    scanRows: scan('rows'),
    scanVersions: scan('versions'),
    versions: async () => versions,
  }
  const reader = coveredReader(
    { codec: { decodedBytes: ({ length }: Buffer) => length && bytes }, bodies: { decode } } as never,
    { lanes: () => ({ shard: 'shard 0' }) as never },
    { entry, plan: { rowsTellPlaces: false, shards: [0] }, verify },
  )(whole as WholeReader)
  return { reader, scans }
}

/** Reads rows without a look at versions. */
async function read(rows: readonly ReadRow[], bytes = 1, groupsWanted = Infinity) {
  const groups: (ReadEntity | undefined)[][] = []
  const { reader } = createReader(bytes, false)
  await reader.read(rows as never, undefined, (group) => groups.push([...group]) < groupsWanted)
  return { groups, cost: reader.costOf!({ entitiesRead: rows.length } as never) }
}

const bagsOf = (groups: (ReadEntity | undefined)[][]): unknown[] =>
  groups.map((group) => group.map((each) => each?.bag))

test('an item has the part of its row, with its memory, and no place that its rows do not tell', async () => {
  const { groups, cost } = await read([row(1, 'plain')], 1_000)
  expect(groups).toEqual([
    [{ id, bag: { part: 'plain' }, key: undefined, version: 1, updated: undefined, bytes: 1_200 }],
  ])
  expect(cost).toMatchObject({ entitiesCovered: 1, entitiesRead: 0, entityReads: 0 })
  // The place where a page begins has no part.
  expect(bagsOf((await read([{ key: [4n], entityId: id }])).groups)).toEqual([[{ title: 'whole 4' }]])
})

test('parts that need entries of the codec are awaited, and the entity of a part that cannot be decoded is read', async () => {
  const rows = ['plain', 'late', 'late failing', 'damaged'].map((part, n) => row(n, part))
  const { groups, cost } = await read(rows)
  expect(bagsOf(groups).flat()).toEqual([
    { part: 'plain' },
    { part: 'late' },
    { title: 'whole 2' },
    { title: 'whole 3' },
  ])
  expect(cost).toMatchObject({ entitiesCovered: 2, entitiesRead: 2, entityReads: 1 })
})

test('parts that do not fit into memory together come in several groups, as long as more are wanted', async () => {
  const rows = ['a', 'b', 'c'].map((part, n) => row(n, part))
  const { groups, cost } = await read(rows, 5 * MIB)
  expect(bagsOf(groups)).toEqual([[{ part: 'a' }], [{ part: 'b' }], [{ part: 'c' }]])
  expect(cost).toMatchObject({ entitiesCovered: 3 })
  expect(bagsOf((await read(rows, 5 * MIB, 2)).groups)).toEqual([[{ part: 'a' }], [{ part: 'b' }]])
})

test('a verified list takes the parts of committed rows alone, also of several groups', async () => {
  const place = { key: [4n], entityId: id }
  const rows: readonly ReadRow[] = [
    row(1, 'a'),
    { ...row(2, 'b'), entityVersion: 2 },
    { ...row(3, 'c'), entityVersion: 9 },
    row(5, 'd'),
    place,
    { ...row(6, 'e'), included: null as never, entityVersion: 6 },
    { ...row(7, 'f'), entityVersion: 7 },
  ]
  const { reader } = createReader(3 * MIB, true, [1, 5, 70])
  const groups: (ReadEntity | undefined)[][] = []
  const take = (group: readonly (ReadEntity | undefined)[]): boolean => groups.push([...group]) > 0
  await reader.read(rows as never, undefined, take)
  expect(bagsOf(groups).flat()).toEqual([
    { part: 'a' },
    { part: 'b' },
    { title: 'whole 3' },
    { part: 'd' },
    { title: 'whole 4' },
    { title: 'whole 6' },
    { part: 'f' },
  ])
  // Versions are read once, and so are the whole entities, which are all in the second of three groups.
  const cost = { entitiesRead: 7 } as never
  expect(reader.costOf!(cost)).toMatchObject({ entityReads: 2, entitiesRead: 7, entitiesCovered: 4 })
  await reader.read([{ ...row(2, 'b'), entityVersion: 2 }] as never, undefined, take)
  expect(reader.costOf!(cost)).toMatchObject({ entityReads: 2, entitiesCovered: 5 })
})

test.each([
  ['rows alone', false, 'rows'],
  ['rows with versions', true, 'versions'],
])('a list scans %s with their parts if it is verified: %s', async (_, verify, kind) => {
  const { reader, scans } = createReader(1, verify)
  await reader.scan(0, { limit: 5 } as never, undefined, 0)
  expect(scans).toEqual([[kind, { limit: 5, included: true }]])
})
