import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../../../..', import.meta.url))

export interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly type?: string
  readonly license?: string
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A workspace package; its folder is relative to the root, such as `packages/core`. */
export interface WorkspacePackage {
  readonly folder: string
  readonly manifest: Manifest
}

export function workspacePackages(parent: 'packages' | 'apps' | 'tooling'): WorkspacePackage[] {
  return globSync(`${parent}/*/package.json`, { cwd: root })
    .toSorted()
    .map((path) => ({ folder: path.slice(0, -'/package.json'.length), manifest: readManifest(path) }))
}

function readManifest(path: string): Manifest {
  return JSON.parse(read(path)) as Manifest
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Returns the TypeScript and JavaScript files of a package's `src`, relative to the root. */
export function sourcesOf({ folder }: WorkspacePackage): string[] {
  return globSync(`${folder}/src/**/*.{ts,tsx,mts,js,mjs}`, { cwd: root }).toSorted()
}

export function isTest(path: string): boolean {
  return /\.(test|test-d)\.tsx?$/.test(path)
}

export function isThere(path: string): boolean {
  return existsSync(join(root, path))
}

/** Returns the dependencies that users need, without devDependencies. */
export function neededBy({ dependencies, peerDependencies, optionalDependencies }: Manifest): string[] {
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }).toSorted()
}
