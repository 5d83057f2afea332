import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { examplesFolder, root, type ExampleFile } from './example-files.ts'

interface Compiler {
  readonly tsc: string
  readonly settings: object
}

/** The compiler of the repository, with the sources of its packages. */
export const ours: Compiler = {
  tsc: join(root, 'node_modules/.bin/tsc'),
  settings: {
    extends: '@looseleaf-tooling/tsconfig/check.json',
    compilerOptions: { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false },
  },
}

/** The oldest compiler that the README promises, with the published types. */
export const oldest: Compiler = {
  // The only `tsc` of this package.
  tsc: fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url)),
  settings: {
    compilerOptions: {
      target: 'esnext',
      lib: ['esnext'],
      module: 'nodenext',
      types: ['node'],
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      moduleDetection: 'force',
      noEmit: true,
    },
  },
}

/** Errors about names that the text around a fragment explains. */
const UNKNOWN_NAMES = ['TS2304', 'TS2552', 'TS18004']
/** Error about a relative import of the reader's own module. */
const UNKNOWN_MODULE = 'TS2307'

/** Compiles all examples at once. Returns the compiler's errors as `document:line: message`. */
export function typeErrors(examples: readonly ExampleFile[], { tsc, settings }: Compiler): string[] {
  writeFileSync(join(examplesFolder, 'tsconfig.json'), JSON.stringify({ ...settings, include: ['*.ts'] }))
  const { stdout, error } = spawnSync(tsc, ['-p', '.', '--pretty', 'false'], {
    cwd: examplesFolder,
    encoding: 'utf8',
  })
  if (error !== undefined) throw error
  return stdout
    .split('\n')
    .filter((line) => /error TS\d+/.test(line))
    .flatMap((line) => {
      const [, file, at, code, message] = /^(.+?)\((\d+),\d+\): error (TS\d+): (.*)$/.exec(line) ?? []
      const example = examples.find((one) => one.file === file)
      if (example === undefined) return [line]
      if (!example.runs && UNKNOWN_NAMES.includes(code ?? '')) return []
      if (!example.runs && code === UNKNOWN_MODULE && message?.includes("'./") === true) return []
      return [`${example.document}:${at}: ${message}`]
    })
}
