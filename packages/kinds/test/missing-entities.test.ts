import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { defineKind, typed } from '../src/index.ts'
import { Issue, openStore } from './issues.ts'

const Note = defineKind('note', { schema: typed<{ text: string }>() })
const fresh = { project: 'p', title: 'A' }

test('every call says in the same words that an entity of the kind does not exist', async () => {
  const store = await openStore(Issue, Note)
  const issues = Issue.in(store)
  const missing = store.newId()
  const { id: ofNote } = await Note.in(store).insert({ text: 'hello' })
  for (const id of [missing, ofNote]) {
    const error = { code: 'NOT_FOUND', entity: id, message: `There is no issue ${id}.` }
    await expect(issues.update(id, { title: 'B' })).rejects.toMatchObject(error)
    const [fate] = await issues.updateMany([id], { title: 'B' }, { fates: true })
    expect(fate).toMatchObject({ ok: false, error })
  }
  await expect(issues.put({ ...fresh, id: missing, version: 1 })).rejects.toThrow(
    `There is no issue ${missing}.`,
  )
  const upper = missing.toUpperCase() as typeof missing
  await expect(issues.update(upper, { title: 'B' })).rejects.toThrow(`There is no issue ${missing}.`)
})

test('a NOT_FOUND that a patch function throws about another entity stays as it is', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  const { id } = await issues.insert(fresh)
  const thrown = new LooseleafError('NOT_FOUND', 'The parent is missing.', { entity: store.newId() })
  const patch = (): never => {
    throw thrown
  }
  await expect(issues.update(id, patch)).rejects.toBe(thrown)
})
