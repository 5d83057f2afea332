import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createOutput } from '../output.ts'
import { findingsText } from './findings-text.ts'

const output = createOutput(
  {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    cwd: '',
    signal: new AbortController().signal,
  },
  false,
)

test.each([
  ['it is down', 'it is down.'],
  ['NOT_MIGRATED: create the tables first.', 'NOT_MIGRATED: create the tables first.'],
])('a line has one stop behind what was found: %s', (what, told) => {
  const found = { grade: 'act', rule: 'shard', about: 'shard one', what, todo: 'look', see: 'Here' } as const
  expect(findingsText(output, [found])).toEqual([
    `act: shard: shard one: ${told} To do: look. (operations.md, "Here")`,
  ])
  expect(findingsText(output, [{ ...found, about: undefined }])[0]).toMatch(/^act: shard: (it|NOT)/)
})
