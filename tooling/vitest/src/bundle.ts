import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const BUNDLES = join(ROOT, 'node_modules/.cache/looseleaf-bundles')
const SOURCES = '{packages,apps,tooling}/*/{src,test}/**/*.{ts,tsx}'

const bundles = new Map<string, Promise<string>>()
let stamps: readonly string[] | undefined

/**
 * Returns a JavaScript file that does the same as a program of this repository, with its modules in one file. A
 * process loads it in a third of the time of hundreds of TypeScript files. The bundle is made again when a source
 * changes.
 */
export function bundleOf(program: URL): Promise<string> {
  const path = fileURLToPath(program)
  let bundle = bundles.get(path)
  if (bundle === undefined) bundles.set(path, (bundle = findOrMake(path)))
  return bundle
}

async function findOrMake(path: string): Promise<string> {
  const folder = join(BUNDLES, hashOf([path, ...(stamps ??= stampsOfSources())]))
  if (!existsSync(folder)) await make(path, folder)
  return join(folder, 'program.mjs')
}

/** Returns the names, sizes and times of all sources. Read once per process, because there are thousands. */
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

/** Several workers may make the same bundle; the first one stays. */
async function make(path: string, folder: string): Promise<void> {
  // Loaded here, because most workers find a bundle.
  const { rolldown } = await import('rolldown')
  mkdirSync(BUNDLES, { recursive: true })
  const own = mkdtempSync(join(BUNDLES, 'new-'))
  const bundle = await rolldown({
    input: { program: path },
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
