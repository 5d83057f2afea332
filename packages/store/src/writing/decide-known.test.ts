import { parseId, type Bag } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { decideKnown, type Decided } from './decide-known.ts'
import type { CurrentEntity } from './decisions.ts'

const state = {
  id: parseId('01890a5d-ac96-774b-bcce-b302099a8057'),
  version: 7,
  body: Buffer.from('body'),
}

/** Decides to write a bag, or to write nothing, on a state that decodes to `decoded`. */
function decided(decoded: () => Bag | Promise<Bag>, bag?: Bag): [Decided | undefined, CurrentEntity[]] {
  const seen: CurrentEntity[] = []
  const reader = { decode: decoded as never }
  const result = decideKnown(reader, state, 'shard 0', (found) => {
    seen.push(found)
    return { found, oldKeys: [], bag }
  })
  return [result, seen]
}

test('a decision on a remembered state is made with its bag and body', () => {
  const [result, [found]] = decided(() => ({ n: 1 }), { n: 2 })
  expect(found).toEqual({ version: 7, bag: { n: 1 }, damaged: undefined, body: state.body })
  expect(result).toEqual({ found, oldKeys: [], bag: { n: 2 } })
})

test('a state that cannot be decoded at once is read, and its rejection is not unhandled', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  try {
    expect(decided(() => Promise.reject(new Error('no dictionary')), { n: 2 })).toEqual([undefined, []])
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', note)
  }
  expect(unhandled).toEqual([])
})

test('a state is read if it is damaged, or if the decision writes nothing', () => {
  const damaged = (): never => {
    throw new Error('damaged')
  }
  expect(decided(damaged, { n: 2 })).toEqual([undefined, []])
  expect(decided(() => ({ n: 1 }))[0]).toBeUndefined()
})
