// The packages that configs of tests import, as one module.
export * from '@looseleaf/cli'
export * from '@looseleaf/codec'
export * from '@looseleaf/core'
export * from '@looseleaf/driver-sqlite'
export * from '@looseleaf/index-engine'
export * from '@looseleaf/kinds'
