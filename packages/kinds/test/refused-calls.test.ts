import { expect, test } from 'vitest'
import { countNear, defineKind, typed, upgradeKinds } from '../src/index.ts'
import { openStore } from './issues.ts'

const Note = defineKind('note', { schema: typed<{ text: string }>() })

type Call = (...args: readonly unknown[]) => Promise<unknown>
const calls = { upgradeKinds: upgradeKinds as Call, countNear: countNear as Call }

test.each(Object.entries(calls))('%s with wrong arguments is BAD_OPTION, and named', async (name, call) => {
  const store = await openStore(Note)
  const refused: readonly (readonly [args: readonly unknown[], message: string])[] = [
    [[store, 5], 'takes a list of kinds of defineKind; got a number'],
    [[store, undefined], 'takes a list of kinds of defineKind; got nothing'],
    [[store, [{ indexes: [] }]], 'takes a list of kinds of defineKind; got an array of 1 element'],
    [[store, Note], 'takes a list of kinds of defineKind; got an object'],
    [[store, [Note, 'note']], 'takes a list of kinds of defineKind; got an array of 2 elements'],
    [[{}, [Note]], 'takes a DataStore; got an object'],
    [[undefined, [Note]], 'takes a DataStore; got nothing'],
    [[store, [Note], 5], 'takes options as an object; got a number'],
    [[store, [Note], { dryrun: true }], 'has no option "dryrun"'],
    [[store, [Note], { onProgress: 1 }], 'has to be a function; got 1'],
  ]
  for (const [args, message] of refused) {
    const error: unknown = await call(...args).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) as string })
    expect(error).toMatchObject({ message: expect.stringContaining(message) as string })
  }
})
