import { expect, it } from 'vitest'
import { openStore } from '../../test/stores.ts'
import type { Problem } from '../pass/pass-options.ts'
import { cleanIndex } from './clean-index.ts'

it('a clean reports problems that it cannot repair', async () => {
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
