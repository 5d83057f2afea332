/**
 * A part of a public type that has no public name. TypeScript writes its members into the declarations of a program, where it would write the
 * name of an interface or of another alias, which the program may not import.
 */
export type Inlined<Members> = Members
