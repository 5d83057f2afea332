import { expect, it } from 'vitest'
import { openStore } from '../test/stores.ts'
import { cleanIndex } from './clean-index.ts'
import type { Problem } from './pass-options.ts'
import { placeFromText, placeToText } from './place-text.ts'

it('a clean tells of what it cannot put right', async () => {
  const store = await openStore()
  const { id } = await store.put({ user_id: 'ada', published: 'not a number' })
  const problems: Problem[] = []
  await cleanIndex(store, 'by_user', { onProblem: (problem) => problems.push(problem) })
  const { driver, router } = store.context
  const shard = driver.shards[router.shardOfId(Buffer.from(id.replaceAll('-', ''), 'hex'))]!.name
  expect(problems).toContainEqual({
    kind: 'misfit',
    entity: id,
    shard,
    index: 'by_user',
    reason: expect.stringContaining('published'),
  })
})

it('a place is read from the text that was made of it, and from no other', () => {
  const place = { key: [Buffer.from('ada'), 7n, 1.5], entityId: Buffer.alloc(16, 1) }
  const text = placeToText(place)
  expect(placeFromText(text)).toEqual(place)
  for (const other of [
    '',
    '7',
    '{}',
    '[]',
    '[7]',
    text.replace('"7"', '7'),
    text.replace('integer', 'other'),
  ])
    expect([other, placeFromText(other)]).toEqual([other, undefined])
})
