import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import base from '@looseleaf-tooling/vitest'
import {
  createVitest,
  type TestSequencer,
  type TestSpecification,
  type TestModule,
  type TestProject,
  type Vitest,
} from 'vitest/node'
import { mergeConfig, type Plugin } from 'vitest/config'
import { ROOT } from './targets.ts'
import type { Answer, FromHost, Question, TestRun } from './host-protocol.ts'

// A process that keeps Vitest warm and answers one question at a time. Its parent kills it if it hangs,
// because a mutant may never end.

/** Replacement texts of files, by path relative to the root. */
const texts = new Map<string, string>()
const RECORD = fileURLToPath(new URL('record-probes.ts', import.meta.url))

const plugin: Plugin = {
  name: 'mutants',
  enforce: 'pre',
  configureVitest(context) {
    // Vitest caches its transform of a file by the text on disk, so replaced files must not be cached.
    context.defineCacheKeyGenerator(({ id }) => (textOf(id) === undefined ? undefined : false))
  },
  transform(_, id) {
    const text = textOf(id)
    return text === undefined ? undefined : { code: text, map: null }
  },
}

function textOf(id: string): string | undefined {
  return texts.get(id.slice(ROOT.length))
}

/** Runs test files in the order of the question, the likeliest killer first. */
class AsGiven implements TestSequencer {
  shard(files: TestSpecification[]): TestSpecification[] {
    return files
  }
  sort(files: TestSpecification[]): TestSpecification[] {
    return files
  }
}

const packages = (process.argv[2] ?? '').split(',')

/** Without flags for processes: a thread does not start with them. */
const shared = { ...base, test: { ...base.test, execArgv: [] } }

async function start(): Promise<Vitest> {
  const projects = packages.map((folder) =>
    mergeConfig(shared, {
      root: join(ROOT, folder),
      plugins: [plugin],
      test: {
        name: folder,
        setupFiles: [RECORD],
        pool: 'threads',
        isolate: true,
        // The replacement of texts is a plugin of Vite.
        experimental: { viteModuleRunner: true },
      },
    }),
  )
  return createVitest({
    config: false,
    root: ROOT,
    watch: false,
    maxWorkers: 1,
    reporters: [{ onTestCaseResult: () => tell({ alive: true }) }],
    onConsoleLog: () => false,
    sequence: { sequencer: AsGiven },
    projects,
  })
}

function tell(message: FromHost): void {
  process.send?.(message)
}

const vitest = await start()

function replaceTexts(wanted: Readonly<Record<string, string>>): void {
  const changed = new Set([...texts.keys(), ...Object.keys(wanted)])
  texts.clear()
  for (const [file, text] of Object.entries(wanted)) texts.set(file, text)
  for (const file of changed) vitest.invalidateFile(ROOT + file)
}

async function answer({ texts: wanted, runs, bail, testTimeout }: Question): Promise<Answer> {
  replaceTexts(wanted)
  vitest.config.bail = bail ? 1 : 0
  for (const project of vitest.projects) {
    project.config.bail = bail ? 1 : 0
    if (testTimeout !== undefined) {
      project.config.testTimeout = testTimeout
      project.config.hookTimeout = testTimeout
    }
  }
  vitest.state.filesMap.clear()
  const startedAt = performance.now()
  const specifications = runs.map((run) => projectOf(run).createSpecification(ROOT + run.file, filterOf(run)))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  return {
    modules: testModules.map((module) => ({
      file: module.moduleId.slice(ROOT.length),
      errors: module.errors().map(({ message }) => message),
      probes: module.meta().probes ?? [],
      tests: testsOf(module),
    })),
    errors: (unhandledErrors as Error[]).map((error) => String(error?.message ?? error)),
    ms: performance.now() - startedAt,
  }
}

function projectOf({ file }: TestRun): TestProject {
  const folder = packages.find((each) => file.startsWith(`${each}/`))
  const project = vitest.projects.find(({ name }) => name === folder)
  if (project === undefined) throw new Error(`${file} belongs to no package of this run.`)
  return project
}

function filterOf({ tests }: TestRun): { testIds: string[] } | undefined {
  return tests === undefined ? undefined : { testIds: [...tests] }
}

function testsOf(module: TestModule): Answer['modules'][number]['tests'] {
  return [...module.children.allTests()].flatMap((test) => {
    const { state, errors } = test.result()
    if (state === 'skipped' || state === 'pending') return []
    return [
      {
        id: test.id,
        name: test.fullName,
        failed: state === 'failed' ? (errors?.[0]?.message ?? 'failed') : undefined,
        ms: test.diagnostic()?.duration ?? 0,
        probes: test.meta().probes ?? [],
      },
    ]
  })
}

process.on('message', (question: Question) => {
  answer(question).then(
    (given) => tell({ given }),
    (error: Error) => tell({ failed: error.stack ?? error.message }),
  )
})
process.on('disconnect', () => process.exit())
