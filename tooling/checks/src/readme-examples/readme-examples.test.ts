import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { examplesFolder, root, writeExampleFiles } from './example-files.ts'
import { oldest, ours, typeErrors } from './type-check.ts'

/** Far longer than any example takes; ends one that leaves something open. */
const TIME_LIMIT_MS = 100_000

const run = promisify(execFile)
const examples = writeExampleFiles()

test('there are examples', () => {
  expect(examples.filter(({ runs }) => runs)).not.toEqual([])
})

test('every example type-checks', () => {
  expect(typeErrors(examples, ours)).toEqual([])
})

// Takes about a minute of processor time: the compiler reads every published type.
if (isLong)
  test('every example type-checks with the oldest TypeScript that is promised, against what is published', () => {
    const built = join(root, 'packages/looseleaf/dist/index.d.ts')
    expect(existsSync(built), `${built} is there; it is made by: pnpm build`).toBe(true)
    expect(typeErrors(examples, oldest)).toEqual([])
  })

test.each(examples.filter(({ runs }) => runs))(
  'the example at $document:$line runs to its end',
  async (example) => {
    // A folder for the files that the example creates.
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-example-'))
    try {
      const program = ['--conditions=@looseleaf/source', join(examplesFolder, example.file)]
      const options = { cwd: folder, timeout: TIME_LIMIT_MS, killSignal: 'SIGKILL' } as const
      const failure: unknown = await run(process.execPath, program, options).then(
        () => undefined,
        (error: Error) => error.message,
      )
      expect(failure).toBeUndefined()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
  TIME_LIMIT_MS + 10_000,
)
