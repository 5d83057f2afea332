/** What one package may import, from `src` outside its tests, and be imported by. */
export interface Allowance {
  /** Workspace packages, by their npm names. Exactly these may stand among its dependencies. */
  readonly workspace: readonly string[]
  /** Packages from elsewhere, peers included. Exactly these may stand among its dependencies. */
  readonly thirdParty: readonly string[]
  /** Modules of Node; undefined means any of them. */
  readonly node?: readonly string[]
  /** Third-party packages that its built entry point must not reach, through whatever it imports. */
  readonly neverReaches?: readonly string[] | 'anything'
  /** Its entry points beside ".", by the names of their modules. */
  readonly moreEntries?: readonly string[]
}

const drivers = ['kysely', 'mysql2', 'better-sqlite3'] as const
const terminal = ['cli-progress', 'cli-table3', 'commander', 'picocolors'] as const
const noDriver = [...drivers, ...terminal]
const middle = ['@looseleaf/codec', '@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/router']

/** The table of the design, as data: a package that is not in it may not exist. */
export const packages: Readonly<Record<string, Allowance>> = {
  '@looseleaf/core': { workspace: [], thirdParty: [], node: [], neverReaches: 'anything' },
  '@looseleaf/codec': {
    workspace: ['@looseleaf/core'],
    thirdParty: ['msgpackr'],
    node: ['node:zlib', 'node:crypto', 'node:buffer'],
    neverReaches: noDriver,
  },
  '@looseleaf/router': {
    workspace: ['@looseleaf/core'],
    thirdParty: [],
    node: ['node:crypto'],
    neverReaches: 'anything',
  },
  '@looseleaf/index-engine': {
    workspace: ['@looseleaf/core'],
    thirdParty: [],
    node: ['node:crypto', 'node:buffer'],
    neverReaches: 'anything',
  },
  '@looseleaf/driver-kysely': {
    workspace: ['@looseleaf/core'],
    thirdParty: ['kysely'],
    neverReaches: ['mysql2', 'better-sqlite3', 'commander'],
  },
  '@looseleaf/driver-mysql': {
    workspace: ['@looseleaf/core', '@looseleaf/driver-kysely'],
    thirdParty: ['cockatiel', 'kysely', 'mysql2'],
    neverReaches: ['better-sqlite3', 'commander'],
  },
  '@looseleaf/driver-sqlite': {
    workspace: ['@looseleaf/core', '@looseleaf/driver-kysely'],
    thirdParty: ['better-sqlite3', 'kysely'],
    neverReaches: ['mysql2', 'commander'],
  },
  '@looseleaf/protocol': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine'],
    thirdParty: [],
    neverReaches: 'anything',
  },
  '@looseleaf/store': {
    workspace: [...middle, '@looseleaf/protocol'],
    thirdParty: ['lru-cache'],
    neverReaches: noDriver,
  },
  '@looseleaf/cleaner': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/protocol'],
    thirdParty: ['p-limit'],
    neverReaches: noDriver,
  },
  '@looseleaf/changes': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/protocol', '@looseleaf/store'],
    thirdParty: ['p-limit'],
    neverReaches: noDriver,
  },
  '@looseleaf/console': {
    workspace: ['@looseleaf/cleaner', '@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/store'],
    thirdParty: [],
    node: ['node:crypto', 'node:events', 'node:http', 'node:timers/promises'],
    neverReaches: noDriver,
  },
  '@looseleaf/memcached': {
    workspace: ['@looseleaf/core'],
    thirdParty: ['memcache-client'],
    neverReaches: noDriver,
  },
  '@looseleaf/opentelemetry': {
    workspace: ['@looseleaf/core', '@looseleaf/store'],
    thirdParty: ['@opentelemetry/api'],
    node: [],
    neverReaches: noDriver,
  },
  '@looseleaf/kinds': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/store'],
    thirdParty: ['@standard-schema/spec', 'p-limit'],
    node: ['node:v8'],
    neverReaches: noDriver,
  },
  '@looseleaf/testkit': { workspace: ['@looseleaf/core'], thirdParty: ['expect'], neverReaches: noDriver },
  '@looseleaf/cli': {
    workspace: [
      '@looseleaf/changes',
      '@looseleaf/cleaner',
      '@looseleaf/codec',
      '@looseleaf/console',
      '@looseleaf/core',
      '@looseleaf/driver-mysql',
      '@looseleaf/driver-sqlite',
      '@looseleaf/index-engine',
      '@looseleaf/kinds',
      '@looseleaf/store',
    ],
    thirdParty: terminal,
    // A program or a config file that takes something from the package does not load the command.
    neverReaches: terminal,
    // The command, for a package that brings it along.
    moreEntries: ['main'],
  },
  looseleaf: {
    workspace: [
      ...middle,
      '@looseleaf/changes',
      '@looseleaf/cleaner',
      '@looseleaf/cli',
      '@looseleaf/driver-kysely',
      '@looseleaf/driver-mysql',
      '@looseleaf/driver-sqlite',
      '@looseleaf/kinds',
      '@looseleaf/store',
    ],
    thirdParty: [],
    neverReaches: terminal,
  },
}

/** The demo site shows what people write themselves, so it has the umbrella and no database of its own. */
export const feed: Allowance = {
  workspace: ['@looseleaf/console', 'looseleaf'],
  thirdParty: [
    '@fastify/cookie',
    '@fastify/formbody',
    '@fastify/multipart',
    '@fastify/static',
    'fastify',
    'feedsmith',
    'htmlparser2',
    'preact',
    'preact-render-to-string',
    'sanitize-html',
  ],
}

/** Longest file of a package's `src` outside tests, in lines. */
export const MOST_LINES = 400
