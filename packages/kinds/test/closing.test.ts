import { isLooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { Issue, openStore } from './issues.ts'

/** More writes than a call has in flight at once. */
const MANY = 600
const values = Array.from({ length: MANY }, (_, n) => ({ project: 'p', title: `T${n}` }))

test('close waits for a call with many entities', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  const inserting = issues.insertMany(values)
  const closing = store.close()
  // A later call is refused.
  await expect(issues.insertMany(values)).rejects.toMatchObject({ code: 'CLOSED' })
  expect(await inserting).toHaveLength(MANY)
  await closing
})

test('close waits for updateWhere, and for calls that read before they write', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  const [first, second] = await issues.insertMany(values)
  const changing = issues.byProject.updateWhere({ project: 'p' }, { status: 'closed' })
  const others = [
    issues.delete(first!.id),
    issues.upsert(second!.id, values[1]!, { assignee: 'a' }),
    issues.byProject.first({ project: 'p' }),
  ]
  const closing = store.close()
  await Promise.all(others)
  const { done, failed } = await changing
  expect(failed).toEqual([])
  expect(done).toBeGreaterThan(MANY - 3)
  await closing
  await expect(issues.byProject.updateWhere({ project: 'p' }, {})).rejects.toSatisfy((error) =>
    isLooseleafError(error, 'CLOSED'),
  )
})

test('`return` ends an iterator of the changes of a kind while its `next` waits', async () => {
  const store = await openStore(Issue)
  const changes = Issue.in(store).changes()[Symbol.asyncIterator]()
  const waiting = changes.next()
  await changes.return?.()
  expect(await waiting).toEqual({ done: true, value: undefined })
})
