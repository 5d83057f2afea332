/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { BUCKETS } from './bucket-of-id.ts'
