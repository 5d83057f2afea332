import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { beforeAll, expect, test } from 'vitest'
import { examplesFolder, root, writeExampleFiles, type ExampleFile } from './example-files.ts'
import { oldest, ours, typeErrors } from './type-check.ts'

/** Far longer than all examples take; ends examples that leave something open. */
const TIME_LIMIT_MS = 100_000
const PROGRAM = fileURLToPath(new URL('run-examples.ts', import.meta.url))

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

const running = examples.filter(({ runs }) => runs)
const endedTogether = new Set<ExampleFile>()

beforeAll(async () => {
  const batches = [0, 1].map((batch) => running.filter((_, number) => number % 2 === batch))
  await Promise.all(
    batches.map(async (batch) => {
      if ((await failureOf(batch)) === undefined) for (const example of batch) endedTogether.add(example)
    }),
  )
}, TIME_LIMIT_MS + 10_000)

test.each(running)(
  'the example at $document:$line runs to its end',
  async (example) => {
    if (endedTogether.has(example)) return
    // Tells whether this example of a failed batch is at fault.
    expect(await failureOf([example])).toBeUndefined()
  },
  TIME_LIMIT_MS + 10_000,
)

/** Runs examples in one process. */
async function failureOf(batch: readonly ExampleFile[]): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-example-'))
  try {
    const paths = batch.map(({ file }) => join(examplesFolder, file))
    const options = { cwd: folder, timeout: TIME_LIMIT_MS, killSignal: 'SIGKILL' } as const
    await run(process.execPath, ['--conditions=@looseleaf/source', PROGRAM, ...paths], options)
    return undefined
  } catch (error) {
    return (error as Error).message
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
