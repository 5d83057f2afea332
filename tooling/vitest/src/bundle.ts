import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const BUNDLES = join(ROOT, 'node_modules/.cache/looseleaf-bundles')
const SOURCES = '{packages,apps,tooling}/*/{src,test}/**/*.{ts,tsx}'

/** Programs that tests and attacks start. Bundled together, because they share most of their modules. */
const PROGRAMS = [
  'apps/examples/test/queue-worker.ts',
  'apps/feed/src/crawl-main.ts',
  'apps/feed/src/deliver-main.ts',
  'apps/feed/src/main.ts',
  'apps/feed/test/crawl-child.ts',
  'apps/feed/test/delivering.ts',
  'apps/feed/test/undo-child.ts',
  'packages/cli/src/bin.ts',
  'packages/cli/test/config-packages.ts',
  'packages/driver-mysql/test/forgetful-process.ts',
  'packages/looseleaf/src/bin.ts',
  'packages/looseleaf/src/index.ts',
  'packages/looseleaf/test/move-entities.ts',
  'packages/looseleaf/test/transfer-cents.ts',
  'packages/looseleaf/test/write-same-entities.ts',
  'tooling/attacks/src/faults/changes/changes-worker.ts',
  'tooling/attacks/src/faults/keys/fighter.ts',
  'tooling/attacks/src/faults/load/worker.ts',
  'tooling/attacks/src/faults/replicas/replicas-worker.ts',
  'tooling/attacks/src/growth/worker.ts',
  'tooling/attacks/src/hand-overs/worker.ts',
  'tooling/attacks/test/writing-child.ts',
  'tooling/simulation/src/run/seed-process.ts',
]

let bundles: Promise<string> | undefined

/**
 * Returns a JavaScript file that does the same as a program of this repository, with its modules in a few files. A
 * process loads it in a third of the time of hundreds of TypeScript files. The bundles are made again when a source
 * changes.
 */
export async function bundleOf(program: URL): Promise<string> {
  const path = relative(ROOT, fileURLToPath(program))
  if (!PROGRAMS.includes(path)) throw new Error(`${path} is not in the list of programs in bundle.ts.`)
  return join(await (bundles ??= findOrMake()), `${nameOf(path)}.mjs`)
}

const nameOf = (path: string): string => path.replaceAll('/', '.').replace(/\.ts$/, '')

async function findOrMake(): Promise<string> {
  const folder = join(BUNDLES, hashOf(stampsOfSources()))
  if (!existsSync(folder)) await make(folder)
  return folder
}

/** Returns the names, sizes and times of all sources. */
function stampsOfSources(): string[] {
  return globSync(SOURCES, { cwd: ROOT })
    .toSorted()
    .map((file) => {
      const { size, mtimeMs } = statSync(join(ROOT, file))
      return `${file} ${size} ${mtimeMs}`
    })
}

function hashOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 24)
}

/** Several workers may make the same bundles; the first ones stay. */
async function make(folder: string): Promise<void> {
  // Loaded here, because most workers find the bundles.
  const { rolldown } = await import('rolldown')
  mkdirSync(BUNDLES, { recursive: true })
  const own = mkdtempSync(join(BUNDLES, 'new-'))
  const bundle = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((path) => [nameOf(path), join(ROOT, path)])),
    platform: 'node',
    resolve: { conditionNames: ['@looseleaf/source', 'node', 'import', 'default'] },
    plugins: [keepAddresses, leaveOutPackages],
  })
  await bundle.write({
    dir: own,
    format: 'es',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  await bundle.close()
  try {
    renameSync(own, folder)
  } catch (error) {
    rmSync(own, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}

/** Modules find their neighbours, such as `package.json`, from the addresses of their sources. */
const keepAddresses: Plugin = {
  name: 'looseleaf-keep-addresses',
  transform: {
    filter: { code: 'import.meta.' },
    handler: (code, id) =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(join(id, '..'))),
  },
}

/** Packages with native or generated code are loaded from their folders, and so are those that expect both module systems of Node. */
const leaveOutPackages: Plugin = {
  name: 'looseleaf-leave-out-packages',
  resolveId: {
    filter: { id: /^(?:better-sqlite3|mysql2|@fastify\/helmet)(?:\/|$)/ },
    async handler(source, importer) {
      const resolved = await this.resolve(source, importer, { skipSelf: true })
      return resolved && { id: pathToFileURL(resolved.id).href, external: true }
    },
  },
}
