import { expect, test } from 'vitest'
import { defineKind } from '../src/index.ts'
import { Issue, openStore } from './issues.ts'

const fresh = { project: 'p', title: 'A' }

/** Returns the error of a call, however it fails. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  throw new Error('The call has to fail.')
}

test('every call of a collection refuses unknown options by its name', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id } = await issues.insert(fresh)
  const bad = { limt: 1 } as object
  const calls: readonly (readonly [string, () => unknown])[] = [
    ['insert', () => issues.insert(fresh, bad)],
    ['put', () => issues.put(fresh, bad)],
    ['update', () => issues.update(id, { title: 'B' }, bad)],
    ['upsert', () => issues.upsert(id, fresh, { title: 'B' }, bad)],
    ['delete', () => issues.delete(id, bad)],
    ['insertMany', () => issues.insertMany([fresh], bad)],
    ['putMany', () => issues.putMany([fresh], bad)],
    ['updateMany', () => issues.updateMany([id], { title: 'B' }, bad)],
    ['deleteMany', () => issues.deleteMany([id], bad)],
    ['changes', () => issues.changes(bad)],
    ['intersect', () => issues.intersect([], bad)],
    ['condition', () => issues.byProject.condition({ project: 'p' }, bad)],
    ['insert', () => issues.writes.insert(fresh, bad)],
    ['put', () => issues.writes.put(fresh, bad)],
  ]
  for (const [name, call] of calls)
    expect([name, await errorOf(call)]).toMatchObject([
      name,
      { code: 'BAD_OPTION', message: expect.stringContaining(`${name} has no option "limt"`) },
    ])
  expect(() => issues.changes({ kinds: ['note'] } as object)).toThrow('changes has no option "kinds"')
  expect(await issues.get(id)).toMatchObject({ title: 'A' })
  expect(await issues.byProject.count({ project: 'p' })).toBe(1)
})

test('every call of a collection refuses arguments of other types by its name', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id } = await issues.insert(fresh)
  const none = 7 as never
  const calls: readonly (readonly [string, () => unknown])[] = [
    ['insert takes an object of properties', () => issues.insert(none)],
    ['put takes an object of properties', () => issues.put(none)],
    ['update takes an id, or', () => issues.update(none, {})],
    ['update takes an object of properties', () => issues.update(id, none)],
    ['upsert takes an object of properties', () => issues.upsert(id, none, {})],
    ['upsert takes an object of properties', () => issues.upsert(id, fresh, none)],
    ['delete takes an id, or', () => issues.delete(none)],
    ['insertMany takes an array', () => issues.insertMany(none)],
    ['putMany takes an array', () => issues.putMany(none)],
    ['updateMany takes an array', () => issues.updateMany(none, {})],
    ['updateMany takes an object of properties', () => issues.updateMany([], none)],
    ['deleteMany takes an array', () => issues.deleteMany(none)],
    ['itemOf takes an entity', () => issues.itemOf(none)],
    ['intersect takes an array', () => issues.intersect(none)],
    ['updateWhere takes an object of properties', () => issues.byProject.updateWhere({ project: 'p' }, none)],
    ['insert takes an object of properties', () => issues.writes.insert(none)],
    ['put takes an object of properties', () => issues.writes.put(none)],
    ['update takes an id, or', () => issues.writes.update(none, {})],
    ['delete takes an id, or', () => issues.writes.delete(none)],
    ['check takes an id, or', () => issues.writes.check(none)],
  ]
  for (const [message, call] of calls)
    expect([message, await errorOf(call)]).toMatchObject([
      message,
      { code: 'BAD_OPTION', message: expect.stringMatching(new RegExp(`^${message}.*got (?:a number|7)`)) },
    ])
})

test('an index may have the name of no call of a collection', async () => {
  const collection = Issue.in(await openStore(Issue))
  const names = Object.keys(collection).filter((name) => !name.startsWith('by'))
  expect(names.length).toBeGreaterThan(18)
  const define = (name: string): unknown =>
    defineKind('issue', { schema: Issue.schema, indexes: { [name]: { by: [{ title: 'string' }] } } } as never)
  for (const name of names)
    expect(() => define(name)).toThrow(`Index ${name} of issue needs another name: a collection has a call`)
  // A name of Object.prototype is none of them, and neither is that of an option which the kind does not have.
  for (const name of ['constructor', 'expires']) expect(() => define(name)).not.toThrow()
})

test('an undefined property is named, and a long name is cut', async () => {
  const issues = Issue.in(await openStore(Issue))
  const error = await errorOf(() => issues.update(issues.newId(), { ['x'.repeat(100)]: undefined } as object))
  expect(error).toMatchObject({ message: expect.stringContaining(`whose "${'x'.repeat(60)}" is undefined`) })
})

test('a patch with the id of another entity is refused, and one with its own is not', async () => {
  const issues = Issue.in(await openStore(Issue))
  const [one, other] = await issues.insertMany([fresh, { ...fresh, title: 'B' }])
  const { project } = fresh
  await expect(issues.update(one!.id, { ...other!, project })).rejects.toMatchObject({
    code: 'BAD_ID',
    entity: one!.id,
    message: `The patch given for issue ${one!.id} has another id.`,
  })
  expect(await issues.update(one!.id, { ...one!, title: 'C' })).toMatchObject({ title: 'C' })
})
