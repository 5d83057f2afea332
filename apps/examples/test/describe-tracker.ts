import { countNear, DataStore, type DriverFactory, type EntityId } from 'looseleaf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Comment, indexes, Issue, Person, Project } from '../src/tracker/kinds.ts'
import { createTracker } from '../src/tracker/tracker.ts'

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))

/** Describes the tests of the tracker on the given shards. Each test continues with the data of the previous ones. */
export function describeTracker(where: string, openShards: () => Promise<DriverFactory>): void {
  describe(`the tracker on ${where}`, () => {
    let store: DataStore
    let tracker: ReturnType<typeof createTracker>
    let acme: EntityId
    let website: EntityId
    let ada: { readonly id: EntityId; readonly name: string }

    beforeAll(async () => {
      const shards = await openShards()
      store = await DataStore.open({ shards, indexes, migrate: true, onWarning: () => undefined })
      tracker = createTracker(store)
      acme = (await tracker.tenants.insert({ name: 'Acme', slug: 'acme' })).id
      website = (await tracker.projects.insert({ tenant: acme, name: 'Website', slug: 'website' })).id
      const { id, name } = await tracker.people.insert({
        tenant: acme,
        name: 'Ada',
        email: 'Ada@Example.com',
      })
      ada = { id, name }
    })
    afterAll(() => store?.close())

    test('a project is found by its unique address, which can be renamed', async () => {
      expect(await tracker.projectAt('acme', 'website')).toMatchObject({ id: website, name: 'Website' })
      const shop = await tracker.projects.insert({ tenant: acme, name: 'Shop', slug: 'shop' })
      await expect(tracker.projects.update(shop, { slug: 'website' })).rejects.toMatchObject({
        code: 'DUPLICATE_KEY',
        holder: website,
      })
      await tracker.projects.update(shop, { slug: 'store' })
      expect(await tracker.projectAt('acme', 'store')).toMatchObject({ id: shop.id })
      expect(await tracker.projectAt('acme', 'shop')).toBeUndefined()
      expect(await tracker.projectAt('nobody', 'shop')).toBeUndefined()
      // Another tenant may have a project with the same address.
      const other = await tracker.tenants.insert({ name: 'Other', slug: 'other' })
      await tracker.projects.insert({ tenant: other.id, name: 'Website', slug: 'website' })
    })

    test('a person is found by their e-mail address in any case', async () => {
      expect(await tracker.personOf(acme, 'ADA@example.COM')).toMatchObject(ada)
      expect(await tracker.personOf(acme, 'eve@example.com')).toBeUndefined()
      const twin = tracker.people.insert({ tenant: acme, name: 'Twin', email: 'ada@example.com' })
      await expect(twin).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: ada.id })
    })

    test('issues in several states are paged both ways, soonest due first', async () => {
      const made = await tracker.issues.insertMany(
        Array.from({ length: 45 }, (_, n) => ({
          project: website,
          title: `Issue ${n}`,
          author: ada,
          status: n % 3 === 2 ? ('done' as const) : ('open' as const),
          labels: n % 2 === 0 ? ['bug'] : ['ui', 'bug'],
          assignee: n < 5 ? ada.id : null,
          ...(n < 40 && { due: day(n + 1) }),
        })),
      )
      expect(made).toHaveLength(45)
      const first = await tracker.issuesOf(website, ['open', 'started'])
      expect(first.items).toHaveLength(20)
      expect(first.items[0]).toMatchObject({ title: 'Issue 0', due: day(1) })
      const second = await tracker.issuesOf(website, ['open', 'started'], first.cursor)
      expect(second.items).toHaveLength(10)
      expect(second.items.at(-1)?.due).toBeUndefined()
      const back = await tracker.issuesOf(website, ['open', 'started'], second.previous)
      expect(back.items).toEqual(first.items)
    })

    test('issues are found by assignee, label, author and the beginning of their title', async () => {
      expect(await tracker.dueOf(ada.id, day(4))).toHaveLength(3)
      expect((await tracker.dueOf(null, day(8))).map(({ title }) => title)).toEqual(['Issue 5', 'Issue 6'])
      expect(await tracker.labelled(website, 'ui')).toHaveLength(22)
      expect(await tracker.writtenBy(ada.id)).toHaveLength(45)
      expect((await tracker.titled(website, 'issue 4')).map(({ title }) => title)).toEqual([
        'Issue 4',
        ...Array.from({ length: 5 }, (_, n) => `Issue ${40 + n}`),
      ])
    })

    test('a board counts the issues of all projects together', async () => {
      const board = await tracker.board(acme)
      expect(board.map(({ project, open }) => [project.slug, open])).toEqual([
        ['store', 0],
        ['website', 30],
      ])
    })

    test('issues are read with their newest comments and the number of all', async () => {
      const { items } = await tracker.issuesOf(website, ['open'])
      const [commented] = items
      if (commented === undefined) throw new Error('There are issues.')
      for (let n = 1; n <= 5; n++) {
        await tracker.comments.insert({
          issue: commented.id,
          author: ada.id,
          text: `Comment ${n}`,
          at: day(n),
        })
      }
      const [first, second] = await tracker.withComments(items)
      expect(first?.comments.map(({ text }) => text)).toEqual(['Comment 5', 'Comment 4', 'Comment 3'])
      expect([first?.count, second?.count]).toEqual([5, 0])
    })

    test('all data of a tenant is in the bucket of the tenant', async () => {
      const { kinds } = await countNear(store, [Person, Project, Issue, Comment])
      for (const { entities, atPlace } of Object.values(kinds)) expect(atPlace).toBe(entities)
      // The rows of these indexes are on the shard of their entity.
      expect(kinds['issue']?.indexes['issue_by_project']).toEqual({ rows: 45, near: 45, local: 45 })
      expect(kinds['comment']?.indexes['comment_by_issue']).toEqual({ rows: 5, near: 5, local: 5 })
      // The twelve bits after the version are the bucket.
      const [issue] = await tracker.titled(website, 'issue 1')
      expect(issue?.id.slice(15, 18)).toBe(acme.slice(15, 18))
    })

    test('the second of two concurrent edits of an issue is rejected', async () => {
      const [read] = await tracker.titled(website, 'issue 1')
      if (read === undefined) throw new Error('There is an issue.')
      const form = { id: read.id, version: String(read.version) }
      const saved = await tracker.save(form, { status: 'started' })
      expect(saved.status).toBe('started')
      await expect(tracker.save(form, { title: 'Mine' })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
      await expect(tracker.save(saved, { title: '' })).rejects.toMatchObject({
        code: 'SCHEMA_MISMATCH',
        issues: [{ path: ['title'] }],
      })
    })

    test('a label is renamed on all of its issues', async () => {
      expect(await tracker.renameLabel(website, 'ui', 'design')).toEqual({
        done: 22,
        failed: [],
        complete: true,
      })
      expect(await tracker.labelled(website, 'ui')).toEqual([])
      expect((await tracker.labelled(website, 'design'))[0]?.labels).toEqual(['design', 'bug'])
    })

    test('a project is deleted with its issues and their comments', async () => {
      const [issue] = await tracker.titled(website, 'issue 0')
      expect(await tracker.deleteProject(website)).toBe(true)
      expect(await tracker.projectAt('acme', 'website')).toBeUndefined()
      expect(await tracker.issues.byProject.count({ project: website }, { exact: true })).toBe(0)
      expect(await tracker.comments.byIssue.first({ issue: issue?.id ?? '' })).toBeUndefined()
    })
  })
}
