import { afterAll, beforeAll, expect, test } from 'vitest'
import { addPeople, createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ sample: false })
})
afterAll(() => site.close())

/** Returns the text of the part of a page with this id. */
function partOf(body: string, id: string): string {
  const part = new RegExp(String.raw`<(form|section)[^>]* id="${id}".*?</\1>`, 's').exec(body)
  return textOf(part?.[0] ?? '')
}

test('the notice of a saved form stands in its part of the settings, to which the browser scrolls', async () => {
  await addPeople(site, ['ann'])
  const visitor = createVisitor(site.app)
  await visitor.signIn('ann')
  await visitor.get('/settings')
  const { headers } = await visitor.post('/settings/profile', { full_name: 'Ann', bio: '' })
  expect(headers.location).toBe('/settings?done=profile#profile')
  const { body } = await visitor.get('/settings?done=profile')
  expect(partOf(body, 'profile')).toContain('Your profile is saved.')
  expect(partOf(body, 'sessions')).not.toContain('saved')
  expect(partOf((await visitor.get('/settings?done=sessions')).body, 'sessions')).toContain(
    'That browser is signed out.',
  )
})

test('the settings name the last use of a browser as exactly as its session has it, by days', async () => {
  const [bob] = await addPeople(site, ['bob'])
  const [first, second, visitor] = [1, 2, 3].map(() => createVisitor(site.app))
  for (const each of [first!, second!, visitor!]) await each.signIn('bob')
  const { sessions } = site.site.data
  const [recent, old] = await sessions.byPerson.all({ person_id: bob!.id })
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 60 * 60 * 1000)
  await sessions.update(recent!.id, { seen: hoursAgo(20) })
  await sessions.update(old!.id, { seen: hoursAgo(75) })
  const text = partOf((await visitor!.get('/settings')).body, 'sessions')
  expect(text.match(/last used [^,]*?ago|used in the last day/g)?.toSorted()).toEqual([
    'last used 3 days ago',
    'used in the last day',
  ])
})
