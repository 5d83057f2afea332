import { expect, test } from 'vitest'
import { writePolicy } from './write-policy.ts'

test('the options of writes have defaults', () => {
  expect(writePolicy({} as never)).toEqual({ writeOrder: 'index-first', writeTimeoutMs: 30_000 })
  const given = { writeOrder: 'entity-first', onIndexFailure: 'fail', writeTimeoutMs: 5 } as const
  expect(writePolicy(given as never)).toEqual({ writeOrder: 'entity-first', writeTimeoutMs: 5 })
  expect(writePolicy({ onIndexFailure: 'defer' } as never).writeOrder).toBe('index-first')
})

test("writeOrder 'entity-first' with onIndexFailure 'defer' is BAD_OPTION, and the message says why", () => {
  const options = { writeOrder: 'entity-first', onIndexFailure: 'defer' } as never
  expect(() => writePolicy(options)).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      message: expect.stringContaining("'defer' goes with writeOrder 'index-first'"),
    }),
  )
})
