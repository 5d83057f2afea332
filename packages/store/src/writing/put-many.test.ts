import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { expect, test } from 'vitest'
import type { PutResult } from '../types.ts'
import { putMany } from './put-many.ts'

const A = '01890a5d-ac96-774b-bcce-b302099a8057' as EntityId
const B = '01890a5d-ac96-774b-bcce-b302099a8058' as EntityId

interface Given {
  readonly n: number
  readonly id?: EntityId
}

const take = (bag: unknown) => {
  const { n, id } = bag as Given
  return { id: parseId(id ?? A), isFresh: id === undefined, properties: { n } }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const resultOf = (n: number): PutResult => ({ id: A, version: n, indexed: true, created: true, token: '' })
const busy = new LooseleafError('SHARD_BUSY', 'A deadlock.')

test('bags with one id are put one after the other, also after a failure, and fresh bags at once', async () => {
  const begun: unknown[] = []
  const waiting = new Map<unknown, PromiseWithResolvers<PutResult>>()
  const put = ({ properties: { n } }: { readonly properties: { readonly n?: unknown } }) => {
    begun.push(n)
    const work = Promise.withResolvers<PutResult>()
    waiting.set(n, work)
    return work.promise
  }
  const bags: readonly Given[] = [{ n: 1, id: B }, { n: 2, id: B }, { n: 3 }, { n: 4 }, { n: 5, id: B }]
  const told: unknown[] = []
  const putting = putMany(bags, take, put, true, (fates) => told.push(...fates))
  await turn()
  expect(begun).toEqual([1, 3, 4])
  waiting.get(3)!.resolve(resultOf(3))
  waiting.get(1)!.reject(busy)
  await turn()
  expect(begun).toEqual([1, 3, 4, 2])
  waiting.get(2)!.resolve(resultOf(2))
  await turn()
  expect(begun).toEqual([1, 3, 4, 2, 5])
  waiting.get(4)!.resolve(resultOf(4))
  await turn()
  waiting.get(5)!.resolve(resultOf(5))
  const fates = await putting
  expect(fates).toEqual([
    { ok: false, error: busy },
    ...[2, 3, 4, 5].map((n) => ({ ok: true, value: resultOf(n) })),
  ])
  expect(told).toEqual(fates)
})

test('at most 512 puts are in flight', async () => {
  let begun = 0
  const gate = Promise.withResolvers<PutResult>()
  const bags = Array.from({ length: 600 }, (_, n) => ({ n }))
  const put = () => {
    begun++
    return gate.promise
  }
  const putting = putMany(bags, take, put, false, () => {})
  await turn()
  expect(begun).toBe(512)
  gate.resolve(resultOf(1))
  expect(await putting).toHaveLength(600)
})

test('without fates a failure of some bags is SOME_FAILED, retryable unless a fresh bag was put', async () => {
  const put = async ({ properties }: { readonly properties: { readonly n?: unknown } }) => {
    if (properties.n === 1) throw busy
    return resultOf(Number(properties.n))
  }
  const errorOf = (...bags: readonly Given[]): Promise<unknown> =>
    putMany(bags, take, put, false, () => {}).catch((error: unknown) => error)
  expect(await errorOf({ n: 1 }, { n: 2, id: B })).toMatchObject({
    code: 'SOME_FAILED',
    retryable: true,
    message: '1 of the 2 items of putMany failed. The first of them: A deadlock.',
  })
  expect(await errorOf({ n: 1, id: B }, { n: 2 })).toMatchObject({ retryable: false })
})
