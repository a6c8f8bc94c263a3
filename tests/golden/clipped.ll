; a branch on a value: two regions, of which one runs; on a device both, and a choice

; == mul_sum
; loop [p0] kept 0 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Mul %0 %0
;   %2 f32 = reduce sum %1
;   %3 f32 = store a1 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %100, %block.end ]
  %11 = icmp slt i64 %task1, %3
  br i1 %11, label %task, label %task.end

task:                                             ; preds = %task.head
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %96, %tail.end ]
  %12 = phi float [ 0.000000e+00, %task ], [ %89, %tail.end ]
  %13 = phi float [ 0.000000e+00, %task ], [ %95, %tail.end ]
  %14 = icmp slt i64 %block2, %6
  br i1 %14, label %block, label %block.end

block:                                            ; preds = %block.head
  %15 = add i64 %block2, 8192
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %block2
  %18 = and i64 %17, -32
  %19 = add i64 %block2, %18
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %52, %vector ]
  %20 = phi <8 x float> [ zeroinitializer, %block ], [ %24, %vector ]
  %21 = phi <8 x float> [ zeroinitializer, %block ], [ %25, %vector ]
  %22 = phi <8 x float> [ zeroinitializer, %block ], [ %26, %vector ]
  %23 = phi <8 x float> [ zeroinitializer, %block ], [ %27, %vector ]
  %24 = phi <8 x float> [ zeroinitializer, %block ], [ %48, %vector ]
  %25 = phi <8 x float> [ zeroinitializer, %block ], [ %49, %vector ]
  %26 = phi <8 x float> [ zeroinitializer, %block ], [ %50, %vector ]
  %27 = phi <8 x float> [ zeroinitializer, %block ], [ %51, %vector ]
  %28 = icmp slt i64 %vector3, %19
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector3, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector3, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector3, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector3, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %44 = fmul <8 x float> %31, %31
  %45 = fmul <8 x float> %35, %35
  %46 = fmul <8 x float> %39, %39
  %47 = fmul <8 x float> %43, %43
  %48 = fadd <8 x float> %44, %20
  %49 = fadd <8 x float> %45, %21
  %50 = fadd <8 x float> %46, %22
  %51 = fadd <8 x float> %47, %23
  %52 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %72, %tail ]
  %53 = phi <8 x float> [ %20, %vector.end ], [ %54, %tail ]
  %54 = phi <8 x float> [ %21, %vector.end ], [ %55, %tail ]
  %55 = phi <8 x float> [ %22, %vector.end ], [ %56, %tail ]
  %56 = phi <8 x float> [ %23, %vector.end ], [ %57, %tail ]
  %57 = phi <8 x float> [ %24, %vector.end ], [ %58, %tail ]
  %58 = phi <8 x float> [ %25, %vector.end ], [ %59, %tail ]
  %59 = phi <8 x float> [ %26, %vector.end ], [ %60, %tail ]
  %60 = phi <8 x float> [ %27, %vector.end ], [ %71, %tail ]
  %61 = icmp slt i64 %tail4, %16
  br i1 %61, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %62 = sub i64 %16, %tail4
  %63 = call i64 @llvm.umin.i64(i64 %62, i64 8)
  %64 = trunc i64 %63 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %64, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %65 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %66 = mul i64 %tail4, 1
  %67 = getelementptr float, ptr %8, i64 %66
  %68 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %67, i32 4, <8 x i1> %65, <8 x float> zeroinitializer)
  %69 = fmul <8 x float> %68, %68
  %70 = fadd <8 x float> %69, %53
  %71 = select <8 x i1> %65, <8 x float> %70, <8 x float> %53
  %72 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %73 = fadd <8 x float> %53, %57
  %74 = fadd <8 x float> %54, %58
  %75 = fadd <8 x float> %55, %59
  %76 = fadd <8 x float> %56, %60
  %77 = fadd <8 x float> %73, %75
  %78 = fadd <8 x float> %74, %76
  %79 = fadd <8 x float> %77, %78
  %80 = shufflevector <8 x float> %79, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %81 = shufflevector <8 x float> %79, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %82 = fadd <4 x float> %81, %80
  %83 = shufflevector <4 x float> %82, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %84 = shufflevector <4 x float> %82, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %85 = fadd <2 x float> %84, %83
  %86 = extractelement <2 x float> %85, i64 1
  %87 = extractelement <2 x float> %85, i64 0
  %88 = fadd float %87, %86
  %89 = fadd float %12, %88
  %90 = fsub float %89, %12
  %91 = fsub float %88, %90
  %92 = fsub float %89, %90
  %93 = fsub float %12, %92
  %94 = fadd float %93, %91
  %95 = fadd float %13, %94
  %96 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %97 = fadd float %12, %13
  %98 = fcmp uno float %13, %13
  %99 = select i1 %98, float %12, float %97
  store float %99, ptr %10, align 4
  %100 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }

; == sqrt_gt
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 bool written
;   buffer b3 f32 written
;   access a0 b0 + 0 [0]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Sqrt %0
;   %2 f32 = load a1
;   %3 bool = op Lt %2 %1
;   %4 bool = store a2 %3
;   %5 f32 = store a3 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = add i64 %6, 4095
  %16 = lshr i64 %15, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %40, %tail.end ]
  %17 = phi i64 [ %2, %work ], [ %39, %tail.end ]
  %18 = icmp slt i64 %task1, %3
  br i1 %18, label %task, label %task.end

task:                                             ; preds = %task.head
  %19 = load float, ptr %8, align 4
  %20 = call float @llvm.sqrt.f32(float %19)
  %21 = load float, ptr %10, align 4
  %22 = fcmp olt float %21, %20
  %23 = mul i64 %17, 4096
  %24 = add i64 %23, 4096
  %25 = call i64 @llvm.smin.i64(i64 %24, i64 %6)
  %26 = sub i64 %25, %23
  %27 = and i64 %26, -32
  %28 = add i64 %23, %27
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %23, %task ], [ %31, %vector ]
  %29 = icmp slt i64 %vector2, %28
  br i1 %29, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %30 = zext i1 %22 to i8
  store i8 %30, ptr %12, align 1
  store float %20, ptr %14, align 4
  %31 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %28, %vector.end ], [ %38, %tail ]
  %32 = icmp slt i64 %tail3, %25
  br i1 %32, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %33 = sub i64 %25, %tail3
  %34 = call i64 @llvm.umin.i64(i64 %33, i64 8)
  %35 = trunc i64 %34 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %35, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %36 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %37 = zext i1 %22 to i8
  store i8 %37, ptr %12, align 1
  store float %20, ptr %14, align 4
  %38 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %39 = add i64 %17, 1
  %40 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == div_mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = load a2
;   %3 f32 = op Div %1 %2
;   %4 f32 = op Mul %0 %3
;   %5 f32 = store a3 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = add i64 %6, 4095
  %16 = lshr i64 %15, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %73, %tail.end ]
  %17 = phi i64 [ %2, %work ], [ %72, %tail.end ]
  %18 = icmp slt i64 %task1, %3
  br i1 %18, label %task, label %task.end

task:                                             ; preds = %task.head
  %19 = load float, ptr %10, align 4
  %20 = load float, ptr %12, align 4
  %21 = fdiv float %19, %20
  %22 = mul i64 %17, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %22, %task ], [ %59, %vector ]
  %28 = icmp slt i64 %vector2, %27
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector2, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector2, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %.splatinsert = insertelement <8 x float> poison, float %21, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %44 = fmul <8 x float> %31, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %21, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %45 = fmul <8 x float> %35, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %21, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %46 = fmul <8 x float> %39, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %21, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %47 = fmul <8 x float> %43, %.splat8
  %48 = mul i64 %vector2, 1
  %49 = getelementptr float, ptr %14, i64 %48
  store <8 x float> %44, ptr %49, align 4
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %14, i64 %50
  %52 = getelementptr float, ptr %51, i64 8
  store <8 x float> %45, ptr %52, align 4
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %14, i64 %53
  %55 = getelementptr float, ptr %54, i64 16
  store <8 x float> %46, ptr %55, align 4
  %56 = mul i64 %vector2, 1
  %57 = getelementptr float, ptr %14, i64 %56
  %58 = getelementptr float, ptr %57, i64 24
  store <8 x float> %47, ptr %58, align 4
  %59 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail9 = phi i64 [ %27, %vector.end ], [ %71, %tail ]
  %60 = icmp slt i64 %tail9, %24
  br i1 %60, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %61 = sub i64 %24, %tail9
  %62 = call i64 @llvm.umin.i64(i64 %61, i64 8)
  %63 = trunc i64 %62 to i32
  %.splatinsert10 = insertelement <8 x i32> poison, i32 %63, i64 0
  %.splat11 = shufflevector <8 x i32> %.splatinsert10, <8 x i32> poison, <8 x i32> zeroinitializer
  %64 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat11
  %65 = mul i64 %tail9, 1
  %66 = getelementptr float, ptr %8, i64 %65
  %67 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %66, i32 4, <8 x i1> %64, <8 x float> zeroinitializer)
  %.splatinsert12 = insertelement <8 x float> poison, float %21, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %68 = fmul <8 x float> %67, %.splat13
  %69 = mul i64 %tail9, 1
  %70 = getelementptr float, ptr %14, i64 %69
  call void @llvm.masked.store.v8f32.p0(<8 x float> %68, ptr %70, i32 4, <8 x i1> %64)
  %71 = add i64 %tail9, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %72 = add i64 %17, 1
  %73 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

; == copy
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = add i64 %6, 4095
  %12 = lshr i64 %11, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %61, %tail.end ]
  %13 = phi i64 [ %2, %work ], [ %60, %tail.end ]
  %14 = icmp slt i64 %task1, %3
  br i1 %14, label %task, label %task.end

task:                                             ; preds = %task.head
  %15 = mul i64 %13, 4096
  %16 = add i64 %15, 4096
  %17 = call i64 @llvm.smin.i64(i64 %16, i64 %6)
  %18 = sub i64 %17, %15
  %19 = and i64 %18, -32
  %20 = add i64 %15, %19
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %15, %task ], [ %48, %vector ]
  %21 = icmp slt i64 %vector2, %20
  br i1 %21, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %22 = mul i64 %vector2, 1
  %23 = getelementptr float, ptr %8, i64 %22
  %24 = load <8 x float>, ptr %23, align 4
  %25 = mul i64 %vector2, 1
  %26 = getelementptr float, ptr %8, i64 %25
  %27 = getelementptr float, ptr %26, i64 8
  %28 = load <8 x float>, ptr %27, align 4
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = getelementptr float, ptr %30, i64 16
  %32 = load <8 x float>, ptr %31, align 4
  %33 = mul i64 %vector2, 1
  %34 = getelementptr float, ptr %8, i64 %33
  %35 = getelementptr float, ptr %34, i64 24
  %36 = load <8 x float>, ptr %35, align 4
  %37 = mul i64 %vector2, 1
  %38 = getelementptr float, ptr %10, i64 %37
  store <8 x float> %24, ptr %38, align 4
  %39 = mul i64 %vector2, 1
  %40 = getelementptr float, ptr %10, i64 %39
  %41 = getelementptr float, ptr %40, i64 8
  store <8 x float> %28, ptr %41, align 4
  %42 = mul i64 %vector2, 1
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = getelementptr float, ptr %43, i64 16
  store <8 x float> %32, ptr %44, align 4
  %45 = mul i64 %vector2, 1
  %46 = getelementptr float, ptr %10, i64 %45
  %47 = getelementptr float, ptr %46, i64 24
  store <8 x float> %36, ptr %47, align 4
  %48 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %20, %vector.end ], [ %59, %tail ]
  %49 = icmp slt i64 %tail3, %17
  br i1 %49, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %50 = sub i64 %17, %tail3
  %51 = call i64 @llvm.umin.i64(i64 %50, i64 8)
  %52 = trunc i64 %51 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %52, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %53 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %54 = mul i64 %tail3, 1
  %55 = getelementptr float, ptr %8, i64 %54
  %56 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %55, i32 4, <8 x i1> %53, <8 x float> zeroinitializer)
  %57 = mul i64 %tail3, 1
  %58 = getelementptr float, ptr %10, i64 %57
  call void @llvm.masked.store.v8f32.p0(<8 x float> %56, ptr %58, i32 4, <8 x i1> %53)
  %59 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %60 = add i64 %13, 1
  %61 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
