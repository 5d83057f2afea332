import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createOutput } from '../output/output.ts'
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
  ['noted 9 s ago: one: the server …', 'noted 9 s ago: one: the server …'],
])(
  'the problem in a line ends with one full stop, or with the … of a shortened message: %s',
  (problem, expected) => {
    const found = {
      grade: 'act',
      rule: 'shard',
      about: 'shard one',
      problem,
      instruction: 'look',
      see: 'Here',
    } as const
    expect(findingsText(output, [found])).toEqual([
      `act: shard: shard one: ${expected} To do: look. (operations.md, "Here")`,
    ])
    expect(findingsText(output, [{ ...found, about: undefined }])[0]).toMatch(/^act: shard: (it|NOT|noted)/)
  },
)
