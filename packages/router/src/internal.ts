/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export type { BucketRouterOptions } from './bucket-router.ts'
export type { DeriveIdOptions, KeyPart } from './derive-id.ts'
export type { ModuloRouterOptions } from './modulo-router.ts'
