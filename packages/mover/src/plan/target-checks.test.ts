import { LooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { refusalOf, refusalOfWrite } from './target-checks.ts'

const refused = new LooseleafError('SHARD_UNAVAILABLE', 'The server is read-only.', { shard: 'shard 1' })
const stale = new LooseleafError('STALE_EPOCH', 'The epoch is another.', { shard: 'shard 1' })

test('a write is refused unless the shard has done it, or has compared the epochs', async () => {
  expect(await refusalOfWrite(Promise.resolve())).toBeUndefined()
  expect(await refusalOfWrite(Promise.reject(stale))).toBeUndefined()
  expect(await refusalOfWrite(Promise.reject(refused))).toBe(refused)
  const mistake = new TypeError('A mistake.')
  await expect(refusalOfWrite(Promise.reject(mistake))).rejects.toBe(mistake)
})

test.each(['insert', 'replace', 'discard'])(
  'a shard that refuses one kind of write would refuse copies: %s',
  async (kind) => {
    const epochs: number[] = []
    const write =
      (name: string) =>
      async (_: unknown, { epoch }: { readonly epoch: number }) => {
        epochs.push(epoch)
        throw name === kind ? refused : stale
      }
    const entities = { insert: write('insert'), replace: write('replace'), discard: write('discard') }
    const context = {
      driver: { shards: [{}, { entities }] },
      router: { newId: () => Buffer.alloc(16) },
    } as unknown as EngineContext
    expect(await refusalOf(context, 1, {})).toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      message: 'Shard 1 would refuse the copies: The server is read-only.',
      shard: 'shard 1',
      cause: refused,
    })
    // No shard has this epoch, so nothing is written.
    expect(epochs).toEqual([0, 0, 0])
  },
)
