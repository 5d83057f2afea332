import { expect, onTestFinished, test, vi } from 'vitest'
import { LooseleafError, type ErrorCode, type LooseleafErrorOptions } from './errors.ts'
import { withCaller } from './with-caller.ts'

/** Makes an error in a callback of the event loop, whose stack does not lead to the caller. */
function errorOfLoop({
  code = 'SHARD_BUSY',
  ...options
}: LooseleafErrorOptions & { readonly code?: ErrorCode } = {}): Promise<LooseleafError> {
  return new Promise((resolve) =>
    setImmediate(() => resolve(new LooseleafError(code, 'Two\n lines.', options))),
  )
}

async function call(error: Promise<LooseleafError>): Promise<LooseleafError> {
  const thrown = await error
  return withCaller(thrown) as LooseleafError
}

async function firstProgram(error: Promise<LooseleafError>): Promise<LooseleafError> {
  return await call(error)
}

async function secondProgram(error: Promise<LooseleafError>): Promise<LooseleafError> {
  return await call(error)
}

test('the errors of two calls that share one lead to their own callers, and the shared one stays as it was', async () => {
  const shared = errorOfLoop()
  const before = (await shared).stack
  const [first, second] = await Promise.all([firstProgram(shared), secondProgram(shared)])
  for (const own of [first, second]) {
    expect(own.stack).toContain(before)
    expect(own.stack).not.toMatch(/at withCaller /)
  }
  expect(first.stack).toMatch(/at async firstProgram /)
  expect(first.stack).not.toContain('secondProgram')
  expect(second.stack).toMatch(/at async secondProgram /)
  expect((await shared).stack).toBe(before)
})

test('an error with its caller has the same class, fields, cause and fates', async () => {
  const cause = new Error('inner')
  const given = {
    shard: 'one',
    item: 2,
    retryable: false,
    unknownOutcome: true,
    undone: true,
    cause,
    fates: [{ ok: true, value: 1 }],
  } as const
  const shared = await errorOfLoop(given)
  const own = await firstProgram(Promise.resolve(shared))
  expect(own).not.toBe(shared)
  expect(own).toBeInstanceOf(LooseleafError)
  expect(own).toMatchObject({ code: 'SHARD_BUSY', message: shared.message, ...given })
  expect(JSON.stringify(own)).toBe(JSON.stringify(shared))
  expect(Object.keys(own)).toEqual(Object.keys(shared))
})

test('no stack is formatted before it is read, and one that was read or set stays', async () => {
  const shared = await errorOfLoop()
  const { prepareStackTrace } = Error
  onTestFinished(() => void (Error.prepareStackTrace = prepareStackTrace))
  const format = vi.fn<() => string>(() => 'formatted')
  Error.prepareStackTrace = format
  const own = await firstProgram(Promise.resolve(shared))
  expect(format).not.toHaveBeenCalled()
  expect(own.stack).toContain('formatted')
  const times = format.mock.calls.length
  expect(own.stack).toContain('formatted')
  expect(format).toHaveBeenCalledTimes(times)
  own.stack = 'another'
  expect(own.stack).toBe('another')
  const second = await firstProgram(Promise.resolve(shared))
  second.stack = 'another'
  expect(second.stack).toBe('another')
})

test('the stack of an error that leads to its caller has no frame twice', async () => {
  const own = await firstProgram(Promise.resolve(new LooseleafError('SHARD_BUSY', 'far')))
  expect(own.stack?.match(/at async firstProgram /g)).toHaveLength(1)
  const near = new LooseleafError('SHARD_BUSY', 'near')
  expect((withCaller(near) as LooseleafError).stack).toBe(near.stack)
})

test('an answer that names no shard, and an error of another class, stay the same', async () => {
  const answer = await errorOfLoop({ code: 'NOT_FOUND' })
  expect(withCaller(answer)).toBe(answer)
  class OtherError extends LooseleafError {}
  for (const other of [new OtherError('NOT_FOUND', 'other'), new TypeError('bug'), 'text', undefined])
    expect(withCaller(other)).toBe(other)
})
