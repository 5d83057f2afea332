/** Imports that a package's `src` may have outside its tests. */
export interface Allowance {
  /** npm names of workspace packages; exactly the package's dependencies within the workspace. */
  readonly workspace: readonly string[]
  /** External packages; exactly its other dependencies, peer dependencies included. */
  readonly thirdParty: readonly string[]
  /** Modules of Node; undefined allows any. */
  readonly node?: readonly string[]
  /** External packages that the built entry point must not load, even indirectly. */
  readonly neverReaches?: readonly string[] | 'anything'
  /** False for a package that only its siblings use, and which has no entry ".". Default: true. */
  readonly mainEntry?: false
  /** Entry points beside ".", by module name. */
  readonly moreEntries?: readonly string[]
}

const drivers = ['kysely', 'mysql2', 'better-sqlite3'] as const
const terminal = ['cli-progress', 'cli-table3', 'commander', 'picocolors'] as const
const noDriver = [...drivers, ...terminal]
const middle = ['@looseleaf/codec', '@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/router']

/** The dependency table of the design. Every package must be listed. */
export const packages: Readonly<Record<string, Allowance>> = {
  '@looseleaf/core': {
    workspace: [],
    thirdParty: [],
    node: [],
    neverReaches: 'anything',
    moreEntries: ['internal'],
  },
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
    moreEntries: ['internal'],
  },
  '@looseleaf/index-engine': {
    workspace: ['@looseleaf/core'],
    thirdParty: [],
    node: ['node:crypto', 'node:buffer', 'node:perf_hooks'],
    neverReaches: 'anything',
    moreEntries: ['internal'],
  },
  '@looseleaf/driver-kysely': {
    workspace: ['@looseleaf/core'],
    thirdParty: ['kysely'],
    neverReaches: ['mysql2', 'better-sqlite3', 'commander'],
    moreEntries: ['internal'],
  },
  '@looseleaf/driver-mysql': {
    workspace: ['@looseleaf/core', '@looseleaf/driver-kysely'],
    thirdParty: ['kysely', 'mysql2'],
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
    mainEntry: false,
    moreEntries: ['internal'],
  },
  '@looseleaf/store': {
    workspace: [...middle, '@looseleaf/mover', '@looseleaf/protocol'],
    thirdParty: ['lru-cache'],
    neverReaches: noDriver,
    moreEntries: ['internal'],
  },
  '@looseleaf/cleaner': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/mover', '@looseleaf/protocol'],
    thirdParty: ['p-limit'],
    neverReaches: noDriver,
    moreEntries: ['internal'],
  },
  '@looseleaf/mover': {
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/protocol'],
    thirdParty: [],
    neverReaches: noDriver,
    mainEntry: false,
    moreEntries: ['internal'],
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
    // The parts of its pages, for programs that draw pages without a store.
    moreEntries: ['kit'],
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
    workspace: ['@looseleaf/core', '@looseleaf/index-engine', '@looseleaf/router', '@looseleaf/store'],
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
    // A program or config file that imports the package must not load the command.
    neverReaches: terminal,
    // The command, for packages that include it.
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

/** The demo site shows typical user code, so it uses the umbrella package and no database directly. */
export const feed: Allowance = {
  workspace: ['@looseleaf/console', 'looseleaf'],
  thirdParty: [
    '@fastify/compress',
    '@fastify/cookie',
    '@fastify/csrf-protection',
    '@fastify/etag',
    '@fastify/formbody',
    '@fastify/helmet',
    '@fastify/multipart',
    '@fastify/rate-limit',
    '@fastify/session',
    '@fastify/static',
    'fastify',
    'feedsmith',
    'htmlparser2',
    'preact',
    'preact-render-to-string',
    'sanitize-html',
    'undici',
    'zod',
  ],
}

/** The stage of the demo site breaks its store on purpose, so it also uses packages below. */
export const stage: Allowance = {
  ...feed,
  workspace: [
    '@looseleaf/cleaner',
    '@looseleaf/console',
    '@looseleaf/core',
    '@looseleaf/index-engine',
    'looseleaf',
  ],
}

/** Every file in `src`, tests excluded, must have fewer lines. */
export const MOST_LINES = 400
