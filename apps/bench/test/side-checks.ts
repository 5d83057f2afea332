import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Server } from '../src/servers/server.ts'
import type { Side, SideDefinition, StoredEntry } from '../src/sides/side.ts'
import { openDataSet, type DataSet } from '../src/workload/data-set.ts'
import { stripe, type Entry } from '../src/workload/entry.ts'
import { entryId, userId, type Ref } from '../src/workload/ids.ts'
import type { LayoutName } from '../src/workload/indexes.ts'

const ENTRIES = 240
const USERS = 2
const LIMIT = 20

/** Adds tests to the current `describe`: a side finds the entries that it wrote, by each call that the benchmark measures. */
export function checkSide(definition: SideDefinition, openServer: () => Promise<Server>): void {
  let server: Server
  const sides: Side[] = []
  beforeAll(async () => {
    server = await openServer()
  })
  afterAll(async () => {
    for (const side of sides) await side.close()
    await server?.close()
  })

  type Opened = [Side, DataSet, readonly (readonly [Ref, Entry])[]]
  const opened = new Map<LayoutName, Promise<Opened>>()
  /** Tests of a layout share its databases, so tests that change entries come last. */
  function shared(layout: LayoutName): Promise<Opened> {
    let found = opened.get(layout)
    if (found === undefined) opened.set(layout, (found = open(layout)))
    return found
  }

  async function open(layout: LayoutName): Promise<Opened> {
    const databases = await server.createDatabases()
    await definition.create(databases, layout)
    const side = await definition.open(databases, layout)
    sides.push(side)
    const data = openDataSet({ layout, entries: ENTRIES, users: USERS, bag: undefined }, 0)
    const entries = Array.from({ length: ENTRIES }, (_, number) => data.entry(number))
    await side.fill(entries)
    return [side, data, entries]
  }

  describe(definition.title, () => {
    test('a user’s entries are found by page, count and pages of several users', async () => {
      const [side, , entries] = await shared('entries')
      const user = userId(1)
      const expected = newestOf(entries, (entry) => entry.user_id === user)
      expect((await side.page?.(user, LIMIT))?.map(({ id }) => id)).toEqual(expected.slice(0, LIMIT))
      expect(await side.count?.(user)).toBe(ENTRIES / USERS)
      const each = await side.pageOfEach?.([user, userId(0)], 5)
      expect(each?.map((items) => items.map(({ id }) => id))).toEqual([
        expected.slice(0, 5),
        newestOf(entries, (entry) => entry.user_id === userId(0)).slice(0, 5),
      ])
    })

    test('entries are read as they were inserted, replaced and deleted', async () => {
      const [side, data, entries] = await shared('entries')
      const [ref, entry] = entries[7] as readonly [Ref, Entry]
      expect(plain(await side.get(ref))).toEqual(plain({ ...entry, id: ref.id }))
      const refs = [9, 3, 100].map((number) => entries[number]?.[0] as Ref)
      const absent = { id: entryId(ENTRIES), user: ref.user }
      expect((await side.getMany([...refs, absent])).map((found) => found?.id)).toEqual([
        ...refs.map(({ id }) => id),
        undefined,
      ])
      expect(await side.get(absent)).toBeUndefined()

      const inserted = await side.insert(data.newEntry())
      expect((await side.get(inserted))?.id).toBe(inserted.id)
      const [replaced, replacement] = data.replacement(false)
      await side.put(replaced, replacement)
      expect(plain(await side.get(replaced))).toEqual(plain({ ...replacement, id: replaced.id }))
      await side.delete(inserted)
      expect(await side.get(inserted)).toBeUndefined()
    })

    test('concurrent updates of an entry are all kept', async () => {
      const [side, , entries] = await shared('entries')
      const [ref] = entries[0] as readonly [Ref, Entry]
      await side.update(ref, (bag) => ({ ...bag, likes: [] }))
      const likes = Array.from({ length: 8 }, (_, i) => `like ${i}`)
      await Promise.all(
        likes.map((like) =>
          side.update(ref, (bag) => ({ ...bag, likes: [...(bag['likes'] as string[]), like] })),
        ),
      )
      const found = (await side.get(ref))?.['likes'] as string[] | undefined
      expect(found?.toSorted()).toEqual(likes)
    })

    test('entries are found by list, range, scatter and tag', async () => {
      const [side, , entries] = await shared('site')
      const user = userId(0)
      const expected = newestOf(entries, (entry) => entry.user_id === user)
      const ids = (items: readonly StoredEntry[] | undefined): string[] | undefined =>
        items?.map(({ id }) => id)
      if (has('list')) {
        const first = entries.find(([{ id }]) => id === expected[0])?.[1]
        for (const list of [side.list, side.listUnverified ?? side.list]) {
          const listed = await list?.(user, LIMIT)
          expect(ids(listed)).toEqual(expected.slice(0, LIMIT))
          expect(listed?.[0]).toMatchObject({ title: first?.title, link: first?.link })
        }
      }
      if (has('range')) {
        const before = new Date(Date.UTC(2026, 0, 2))
        expect(ids(await side.pages?.(user, before, LIMIT, 5))).toEqual(expected.slice(0, 5 * LIMIT))
      }
      if (has('scatter'))
        expect(ids(await side.newest?.(LIMIT))).toEqual(newestOf(entries, () => true).slice(0, LIMIT))
      if (has('tag')) {
        const [, { tags }] = entries[5] as readonly [Ref, Entry & { tags: string[] }]
        const tagged = newestOf(entries, (entry) => (entry['tags'] as string[]).includes(tags[0] as string))
        expect(ids(await side.tagged?.(tags[0] as string, LIMIT))).toEqual(tagged.slice(0, LIMIT))
      }
    })

    if (has('nearPage'))
      test('entries near their user are found by page and list, also a new one', async () => {
        for (const layout of ['near', 'nearList'] as const) {
          const [side, data, entries] = await shared(layout)
          const user = userId(1)
          const entry = { ...data.newEntry(), user_id: user, published: new Date(Date.UTC(2026, 5, 1)) }
          const { id } = await side.insert(entry)
          const expected = [id, ...newestOf(entries, (each) => each.user_id === user)].slice(0, LIMIT)
          const found = layout === 'near' ? await side.page?.(user, LIMIT) : await side.list?.(user, LIMIT)
          expect(found?.map((each) => each.id)).toEqual(expected)
        }
      })

    if (has('queue'))
      test('each due job of a stripe is taken and finished by one caller, and then is due again', async () => {
        const [side, , entries] = await shared('queue')
        const first = entries.filter(([, entry]) => entry['stripe'] === stripe(0)).length
        expect(first).toBeGreaterThan(1)
        const finished = await Promise.all([1, 2, 3].map(() => side.takeAndFinish?.(stripe(0), LIMIT)))
        expect(finished.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBeGreaterThanOrEqual(first)
        await side.settled()
        expect(await side.takeAndFinish?.(stripe(0), LIMIT)).toBe(first)
        expect(await side.takeAndFinish?.('no stripe', LIMIT)).toBe(0)
      })

    if (has('insertUnique'))
      test('a second entry with the same handle is rejected', async () => {
        const [side, data, entries] = await shared('unique')
        const [, { handle }] = entries[3] as readonly [Ref, Entry & { handle: string }]
        await expect(side.insert({ ...data.newEntry(), handle })).rejects.toThrow(/duplicate|handle/i)
      })
  })

  function has(
    scenario: 'list' | 'range' | 'scatter' | 'tag' | 'nearPage' | 'queue' | 'insertUnique',
  ): boolean {
    return definition.without?.includes(scenario) !== true
  }
}

/** Converts an entry to JSON values, because some sides return times as text. */
const plain = (entry: unknown): unknown => JSON.parse(JSON.stringify(entry))

function newestOf(entries: readonly (readonly [Ref, Entry])[], matches: (entry: Entry) => boolean): string[] {
  return entries
    .filter(([, entry]) => matches(entry))
    .toSorted(([, a], [, b]) => b.published.getTime() - a.published.getTime())
    .map(([{ id }]) => id)
}
